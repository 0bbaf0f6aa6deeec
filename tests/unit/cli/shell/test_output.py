"""Tables, fields, JSON and YAML."""

import io
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
import ruamel.yaml

from tinkwell.cli.shell import output


class Terminal(io.StringIO):
    """A terminal, as far as output is concerned."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return terminal


def test_a_table_is_aligned_and_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("ID", "NAME", "MESSAGE"), [("x" * 300, "a", ""), ("b", "日本", "end of it")])
    header, first, second = capsys.readouterr().out.splitlines()
    assert first == f"{'x' * 300}  a     -"
    assert header == f"{'ID':<300}  NAME  MESSAGE"
    assert second == f"{'b':<300}  日本  end of it"


def test_what_does_not_print_is_escaped_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("A",), [("x\x1b[2J\ny",)])
    assert capsys.readouterr().out == "A\nx\\x1b[2J\\ny\n"


STRANGE = "\x1b]0;t\x07\x9b2J\x7f\u2028\u202e"


def test_nothing_that_others_wrote_is_obeyed_by_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output.line(STRANGE)
    output.text(f"a\t\x1b[31mred\x1b[0m{STRANGE}")
    output.fields([("NAME", STRANGE)])
    for chosen in output.Format:
        output.item({STRANGE: [STRANGE]}, chosen)
    shown = terminal.getvalue()
    assert "a\tred\\x1b]0;t\\x07\\x9b2J\\x7f\\u2028\\u202e\n" in shown
    # What is left of escapes is ours.
    for ours in ("\x1b[1m", "\x1b[0m", "\n", "\t"):
        shown = shown.replace(ours, "")
    assert shown.isprintable()


def test_what_is_raw_and_what_goes_elsewhere_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output.text(STRANGE)
    assert capsys.readouterr().out == f"{STRANGE}\n"
    on_terminal(monkeypatch)
    assert output.shown(STRANGE, is_raw=True) == STRANGE


@pytest.mark.parametrize("chosen", [output.Format.JSON, output.Format.JSONL, output.Format.YAML])
def test_values_mean_the_same_though_they_are_escaped_wherever_they_go(
    capsys: pytest.CaptureFixture[str], chosen: output.Format
) -> None:
    output.whole({STRANGE: STRANGE}, chosen)
    text = capsys.readouterr().out
    assert text.replace("\n", "").isprintable()
    assert ruamel.yaml.YAML(typ="safe", pure=True).load(text) == {STRANGE: STRANGE}


def test_a_note_is_not_obeyed_by_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output.note(f"{STRANGE} is lost")
    assert capsys.readouterr().err == "\\x1b]0;t\\x07\\x9b2J\\x7f\\u2028\\u202e is lost\n"


def test_a_state_is_coloured_on_a_terminal_without_moving_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output.table(("STATE", "N"), [("FAILED", "1"), ("PENDING", "2")])
    _, failed, pending = terminal.getvalue().splitlines()
    assert failed == "\x1b[31mFAILED\x1b[0m   1"
    assert pending == "PENDING  2"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_user_can_do_without_colours(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv(name, value)
    output.table(("STATE",), [("FAILED",)])
    assert terminal.getvalue() == "STATE\nFAILED\n"


def test_fields_leave_out_what_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    output.fields([("ID", "1"), ("CAUSE", ""), ("STARTED", "now")])
    assert capsys.readouterr().out == "ID       1\nSTARTED  now\n"


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (output.Format.JSON, '{\n  "a": "ü"\n}\n'),
        (output.Format.JSONL, '{"a":"ü"}\n'),
        (output.Format.YAML, '---\na: "ü"\n'),
    ],
)
def test_each_value_of_a_stream_stands_by_itself(
    capsys: pytest.CaptureFixture[str], chosen: output.Format, text: str
) -> None:
    output.item({"a": "ü"}, chosen)
    assert capsys.readouterr().out == text


def test_json_is_escaped_where_the_output_cannot_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    output.whole({"a": "日"}, output.Format.JSONL)
    assert raw.getvalue() == b'{"a":"\\u65e5"}\n'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain text", "plain text"),
        ("52:54:00:10:00:03", '"52:54:00:10:00:03"'),
        ("no", '"no"'),
        ("1.10", '"1.10"'),
        ("", '""'),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\x1b\nb", '"a\\e\\nb"'),
    ],
)
def test_yaml_says_text_so_that_older_readers_take_it_for_text(value: Any, text: str) -> None:
    from tinkwell.core.value.yaml import text as yaml_text

    assert yaml_text.dump({"k": value}) == f"k: {text}"


@pytest.mark.parametrize(("digits", "text"), [(0, "2026-11-20T12:04:31Z"), (3, "2026-11-20T12:04:31.123Z")])
def test_a_time_is_in_utc_with_as_many_digits_as_asked_for(digits: int, text: str) -> None:
    assert output.moment(datetime(2026, 11, 20, 12, 4, 31, 123456, UTC), digits=digits) == text


def test_no_time_is_empty() -> None:
    assert output.moment(None) == ""
