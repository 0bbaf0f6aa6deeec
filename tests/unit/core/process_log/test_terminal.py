"""Texts of others, as a terminal may show them."""

import json
import unicodedata

import pytest
import ruamel.yaml

from tinkwell.core.process_log import terminal
from tinkwell.core.value.yaml import text as yaml_text

OBEYED = ["\x07", "\x08", "\r", "\x0b", "\x1b", "\x7f", "\x84", "\x9b", "\x9d", "\u2028", "\u2029", "\u202e", "\u2066"]


@pytest.mark.parametrize("character", OBEYED)
def test_what_a_terminal_obeys_is_escaped_in_every_form_and_means_the_same(character: str) -> None:
    text = f"a{character}b"
    for form in (terminal.escaped, terminal.plain, terminal.coloured):
        assert form(text) == f"a{character.encode('unicode_escape').decode()}b"
    in_json = terminal.in_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert in_json.isprintable()
    assert json.loads(in_json) == {text: [text]}
    in_yaml = terminal.in_yaml(yaml_text.dump({text: [text]}))
    assert in_yaml.replace("\n", "").isprintable()
    assert ruamel.yaml.YAML(typ="safe", pure=True).load(in_yaml) == {text: [text]}


def test_no_control_is_left_but_tabs_and_ends_of_lines() -> None:
    controls = [chr(number) for number in range(0x110000) if unicodedata.category(chr(number)) in ("Cc", "Zl", "Zp")]
    left = [character for character in controls if terminal.escaped(character) == character]
    assert left == ["\t", "\n"]


@pytest.mark.parametrize("text", ["plain", "über 日本語\u3000と", "👩\u200d👧", "می\u200cخواهم", "a\tb\nc"])
def test_ordinary_text_stays_in_every_form(text: str) -> None:
    for form in (terminal.escaped, terminal.plain, terminal.coloured, terminal.in_json, terminal.in_yaml):
        assert form(text) == text


def test_colours_of_programs_are_taken_out_and_ours_stay() -> None:
    text = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b[2J"
    assert terminal.plain(text) == "red \\x1b]0;title\\x07\\x1b[2J"
    assert terminal.coloured(text) == "\x1b[1;31mred\x1b[0m \\x1b]0;title\\x07\\x1b[2J"


def test_halves_of_characters_and_tags_beyond_the_first_plane_are_escaped() -> None:
    for text in ("\ud800", "\U000e0041"):
        assert json.loads(terminal.in_json(json.dumps(text, ensure_ascii=False))) == text
        assert terminal.escaped(text).isascii()
