"""Tabs in YAML: read where they separate, refused where they would indent."""

from typing import Any

import pytest

from tinkwell.core.value.yaml import event as yaml_event
from tinkwell.core.value.yaml import node as yaml_node
from tinkwell.core.value.yaml import position


def read(text: str) -> Any:
    [node] = yaml_node.documents(text)
    return yaml_node.value_of(node)


READ = [
    ("image:\tx", {"image": "x"}),
    ("image: \tx", {"image": "x"}),
    ("image:\t\t x\t\n", {"image": "x"}),
    ("image\t: x", {"image": "x"}),
    ("'image'\t:\t'x'\t# why", {"image": "x"}),
    ("a: b\tc", {"a": "b\tc"}),
    ("a: b \t c", {"a": "b \t c"}),
    ("a: b\t\n   c", {"a": "b c"}),
    ("a: b\n  \tc\t\n\n   d", {"a": "b c\nd"}),
    ("a: b\t# why", {"a": "b"}),
    ("a:\t# why\n  b: c", {"a": {"b": "c"}}),
    ("a:\t[b,\tc\t]\t\nd:\t{e:\tf\t}", {"a": ["b", "c"], "d": {"e": "f"}}),
    ("a: [b\tc,\n\td]", {"a": ["b\tc", "d"]}),
    ("a:\t|\t# why\n  b\n   \tc\n", {"a": "b\n \tc\n"}),
    ("a: >-\t\n  b\n  c\n", {"a": "b c"}),
    ("a:\t&x\tb\nc:\t*x\t\n", {"a": "b", "c": "b"}),
    ("a: !!str\t2\nb:\t!!str 3", {"a": "2", "b": "3"}),
    ("&x\ta:\t1", {"a": 1}),
    ('a:\t"b\tc\t"\t', {"a": "b\tc\t"}),
    ("-\ta\n- \tb", ["a", "b"]),
    ("-\t[a]\n-\t'b'\n-\t|\n c\n", [["a"], "b", "c\n"]),
    ("- -\ta\n  - b", [["a", "b"]]),
    ("?\ta\n:\tb", {"a": "b"}),
    ("-\t\n  a: b", [{"a": "b"}]),
    ("-\t# why\n  a: b", [{"a": "b"}]),
    ("a: 1\n\t\nb: 2\n  \t # why\n\t# why\n", {"a": 1, "b": 2}),
    ("a: |\n  x\n\t\nb: 1", {"a": "x\n", "b": 1}),
    ("---\ta\n", "a"),
    ("%YAML\t1.2\t# why\n---\na:\tb", {"a": "b"}),
    ("a:\tb\t\r\nc:\td\t\r\n", {"a": "b", "c": "d"}),
    ("a\n\tb", "a b"),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_a_tab_separates_like_a_space(text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize("text", [text for text, _ in READ])
def test_events_are_found_where_they_stand_with_tabs_as_with_spaces(text: str) -> None:
    spaced = text.replace("\t", " ")
    found, expected = (list(yaml_event.parse(each)) for each in (text, spaced))
    assert [(event.kind, event.start) for event in found] == [(event.kind, event.start) for event in expected]


INDENTS = "a tab indents this line; write spaces instead"
BEGINS = "a tab is before a list or mapping that begins in this line; write a space instead"


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("a:\n\tb: 1", (2, 1), INDENTS),
        ("a:\n  \tb: 1", (2, 3), INDENTS),
        ("\ta: 1", (1, 1), INDENTS),
        ("a: 1\n\tb: 2", (2, 1), INDENTS),
        ("a:\n  b: 1\n\tc: 2", (3, 1), INDENTS),
        ("- a\n\t- b", (2, 1), INDENTS),
        ("a:\n\t[b]", (2, 1), INDENTS),
        ("a: |\n\tb", (2, 1), INDENTS),
        ("a: b\n\tc", (2, 1), INDENTS),
        ("-\ta: 1", (1, 4), BEGINS),
        ("-\t- a", (1, 3), BEGINS),
        ("- \t- a", (1, 4), BEGINS),
        ("?\ta: 1", (1, 4), BEGINS),
        ("? a\n:\tb: 1", (2, 4), BEGINS),
    ],
)
def test_a_tab_indents_nothing(text: str, place: tuple[int, int], problem: str) -> None:
    with pytest.raises(position.Malformed) as caught:
        read(text)
    assert (caught.value.position, caught.value.description) == (place, f"not YAML: {problem}")
    with pytest.raises(yaml_event.Malformed, match=problem):
        list(yaml_event.parse(text))


@pytest.mark.parametrize("text", ["a: 1 b: 2", "- a: - b", "a: [", "a: !<x", "a: b: c\td"])
def test_what_is_wrong_without_a_tab_is_not_blamed_on_one(text: str) -> None:
    with pytest.raises(position.Malformed) as caught:
        read(text)
    assert "a tab" not in caught.value.description


def test_a_line_of_a_great_many_tabs_is_read_in_one_pass() -> None:
    assert read("a:" + "\t" * 50_000 + "b" + "\t" * 50_000 + "c\n") == {"a": "b" + "\t" * 50_000 + "c"}
    assert read("a: 1\n" + "\t\n" * 10_000 + "b: 2") == {"a": 1, "b": 2}
