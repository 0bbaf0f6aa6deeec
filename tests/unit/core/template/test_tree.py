"""Strict YAML: the source text of scalars is kept, and hostile documents are refused with their place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.template import tree
from tinkwell.core.template.gotemplate import output

SMALL = tree.Bounds(nodes=1_000, characters=2_000)


def compose(text: str, *, allows_repeated_keys: bool = False, bounds: tree.Bounds = tree.FULL) -> tree.Node | None:
    writer = output.Writer(text)
    writer.write_text(text, 0)
    return tree.compose("data", writer.output(), allows_repeated_keys=allows_repeated_keys, bounds=bounds)


def plainly(node: tree.Node | None) -> object:
    """Show a tree as Python's own lists, dicts, texts, and None for null."""
    match node:
        case None:
            return None
        case tree.Scalar():
            return None if node.is_null else node.text
        case tree.Sequence():
            return [plainly(item) for item in node.items]
        case tree.Mapping():
            return {key: plainly(entry.node) for key, entry in node.entries.items()}


def refusal(text: str, *, bounds: tree.Bounds = tree.FULL) -> str:
    with pytest.raises(errors.InvalidField) as refused:
        compose(text, bounds=bounds)
    (violation,) = refused.value.violations
    assert violation.field == "data"
    return violation.description


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("# nothing\n", None),
        ("---\n", None),
        ("\ufeffa: b", {"a": "b"}),
        ("a: 0.1\nb: 1.50\nc: yes\nd: true", {"a": "0.1", "b": "1.50", "c": "yes", "d": "true"}),
        ("a: 0x1F\nb: 1_000\nc: 12:30", {"a": "0x1F", "b": "1_000", "c": "12:30"}),
        ("a: null\nb: ~\nc:\nd: 'null'\ne: \"\"", {"a": None, "b": None, "c": None, "d": "null", "e": ""}),
        ("a: !!str null\nb: !!null ''\nc: ! ~\nd: !!int '7'", {"a": "null", "b": None, "c": "~", "d": "7"}),
        ("no: NO\non: on\n012: 012", {"no": "NO", "on": "on", "012": "012"}),
        ("a: |\n  x\n   y\n\nb: >-\n  x\n  y", {"a": "x\n y\n", "b": "x y"}),
        ("a: 'it''s'\nb: \"\\t\\u00e9\"", {"a": "it's", "b": "\té"}),
        ("[a, {b: [c]}, !!map {}, !!seq []]", ["a", {"b": ["c"]}, {}, []]),
        ("a: b\r\nc: d\r\n", {"a": "b", "c": "d"}),
        ("%YAML 1.2\n---\na: yes\n...\n", {"a": "yes"}),
        ("a: &x [1]\nb: *x\nc: &y text\nd: *y", {"a": ["1"], "b": ["1"], "c": "text", "d": "text"}),
        ("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3", {"a": {"k": "1", "l": "2"}, "b": {"l": "3", "k": "1"}}),
        ("[&x {k: 1}, &y {k: 2, m: 3}, {<<: [*x, *y]}]", [{"k": "1"}, {"k": "2", "m": "3"}, {"k": "1", "m": "3"}]),
        ("a: {'<<': text}", {"a": {"<<": "text"}}),
    ],
)
def test_a_document_keeps_its_source_texts(text: str, expected: object) -> None:
    assert plainly(compose(text)) == expected


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("a: b: c", "line 1, column 5", "mapping values are not allowed here (not YAML)"),
        ("a:\n\t- b", "line 2, column 1", "not YAML"),
        ("a: [b", "line 1, column 6", "not YAML"),
        ("a: 'b", "line 1, column 6", "not YAML"),
        ('a: "\\q"', "line 1, column 6", "not YAML"),
        ('a: b\nc: "\\U00110000"', "line 2, column 4", "beyond Unicode"),
        ("a: |x", "line 1, column 5", "not YAML"),
        ("%YAML 3.0\n---\na: b", "line 1, column 1", "not YAML"),
        ("%YAML 1.9\n---\na: b", "line 1, column 1", "not YAML"),
        (f"%YAML 1.{'1' * 5_000}\n---\na: b", "line 1, column 1", "neither 1.1 nor 1.2 (not YAML)"),
        ("a: b\nc: d\na: e", "line 3, column 1", 'the key "a" occurs twice'),
        ("{a: 1, 'a': 2}", "line 1, column 8", 'the key "a" occurs twice'),
        ("b: &b {}\nc: {<<: *b, <<: *b}", "line 2, column 13", "<< occurs twice"),
        ("[a]: b", "line 1, column 1", "a key must be text"),
        ("{a: b}: c", "line 1, column 1", "a key must be text"),
        ("a: 1\n---\nb: 2", "line 2, column 1", "a second document begins"),
        ("a: 1\n---\n", "line 2, column 1", "a second document begins"),
        ("a: !!python/object:os.system x", "line 1, column 4", "is not allowed here"),
        ("a: !foo x", "line 1, column 4", 'the tag "!foo" is not allowed here'),
        ("a: !!binary eA==", "line 1, column 4", "is not allowed here"),
        ("a: !!timestamp 2026-01-01", "line 1, column 4", "is not allowed here"),
        ("a: !!set {b}", "line 1, column 4", "is not allowed here"),
        ("a: !!map [b]", "line 1, column 4", "is not allowed here"),
        ("a: !!seq b", "line 1, column 4", "is not allowed here"),
        ("%TAG !e! tag:x,2026:\n---\na: !e!b c", "line 3, column 4", "is not allowed here"),
        ("a: !" + "t" * 101 + " b", "line 1, column 4", "the tag is too long"),
        ("a: *b", "line 1, column 4", 'the anchor "b" is not defined'),
        ("a: &a [*a]", "line 1, column 8", 'the anchor "a" contains itself'),
        ("a: &a {b: {c: *a}}", "line 1, column 15", "contains itself"),
        ("a: {<<: b}", "line 1, column 9", "<< merges a mapping"),
        ("a: {<<: [{b: 1}, c]}", "line 1, column 9", "<< merges a mapping"),
        ('a: "\\0"', "line 1, column 4", "cannot be stored"),
        ('a: "\\ud83d\\ude00"', "line 1, column 4", "cannot be stored"),
        ("[" * 33 + "]" * 33, "line 1, column 33", "nested deeper than 32"),
        ("[" * 100_000, "line 1, column 33", "nested deeper than 32"),
        ("- " * 100_000, "line 1, column 65", "nested deeper than 32"),
        ("{a: " * 100_000, "line 1, column 129", "nested deeper than 32"),
        ("\n".join(" " * level + "a:" for level in range(500)), "line 33, column 33", "nested deeper than 32"),
        ("!" * 200_000, "line 1, column 1", "the tag is too long"),
    ],
)
def test_a_hostile_document_is_refused_with_its_place(text: str, place: str, problem: str) -> None:
    description = refusal(text)
    assert description.startswith(f"{place}: ")
    assert problem in description
    assert len(description) < 200


def test_a_document_of_too_many_parts_is_refused() -> None:
    assert plainly(compose("[" + "1," * 999 + "]", bounds=SMALL)) == ["1"] * 999
    assert refusal("[" + "1," * 1_000 + "]", bounds=SMALL).startswith(
        "line 1, column 2000: has more than 1,000 texts, lists"
    )
    assert refusal(f"[{'x' * 2_001}]", bounds=SMALL).startswith("line 1, column 2: has more than 2,000 characters")


def test_an_alias_bomb_is_refused_before_it_explodes() -> None:
    levels = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 10)]
    assert "aliases counted in full" in refusal("\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *levels]))


def test_a_bomb_of_merged_keys_is_refused() -> None:
    keys = ", ".join(f"k{number}: 1" for number in range(1_000))
    users = "\n".join(f"m{number}: {{<<: *a}}" for number in range(1_000))
    assert "aliases counted in full" in refusal(f"a: &a {{{keys}}}\n{users}")


def test_a_bomb_of_long_texts_is_refused() -> None:
    users = "".join(f"k{number}: *a\n" for number in range(50))
    assert "characters, aliases counted in full" in refusal(f"a: &a {'x' * 100_000}\n{users}")


def test_aliases_cannot_nest_deeper_than_the_limit() -> None:
    levels = [f"a{level}: &a{level} [[[[*a{level - 1}]]]]" for level in range(1, 9)]
    assert "nested deeper than 32" in refusal("\n".join(["a0: &a0 x", *levels]))


def test_repeated_keys_may_be_allowed() -> None:
    assert plainly(compose("a: 1\na: 2", allows_repeated_keys=True)) == {"a": "2"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: b\nc: \x01", "line 2, column 4"),
        ("\x00", "line 1, column 1"),
        ("a\ud800", "line 1, column 2"),
        ("\x7f", "line 1, column 1"),
        ("\ufffe", "line 1, column 1"),
    ],
)
def test_characters_that_yaml_does_not_have_are_refused(text: str, place: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        tree.check_characters("data", text)
    assert refused.value.violations[0].description.startswith(f"{place}: the character ")


def test_every_node_knows_where_it_begins() -> None:
    text = "a: [b,\n  c]\nd:\n  e: 'f'\n"
    root = compose(text)
    assert isinstance(root, tree.Mapping)
    items = root.entries["a"].node
    mapping = root.entries["d"].node
    assert isinstance(items, tree.Sequence)
    assert isinstance(mapping, tree.Mapping)
    assert [text[node.start] for node in (root, items, *items.items, mapping)] == ["a", "[", "b", "c", "e"]
    assert text[mapping.entries["e"].key.start :] == "e: 'f'\n"


@given(st.text(alphabet="ab:-?[]{},#&*!|>'\"%@`~<\\ \n\t\r\x85\u2028\ufeff0.x", max_size=40))
def test_every_text_is_composed_or_refused(text: str) -> None:
    descriptions = ["line 1, column 1: nothing is wrong"]
    try:
        compose(text)
    except errors.InvalidField as refused:
        descriptions = [violation.description for violation in refused.violations]
    (description,) = descriptions
    assert re.fullmatch(r"line \d+, column \d+: .+", description)
