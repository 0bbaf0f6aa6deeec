"""Closed objects: unknown members, members of the wrong type, and the limit of what is told."""

from enum import StrEnum

import pytest

from tinkwell.core import errors
from tinkwell.core.value import check, closed_object, parse
from tinkwell.core.value.document import JsonValue

KNOWN = ("name", "names", "size", "is_big", "colour", "inner", "by_key")


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def name(path: str, text: str) -> str:
    return parse.parse_name(path, text)


def read(value: JsonValue) -> list[str]:
    """Read an object that has a member of each kind, and return what is wrong with it."""
    checks = check.Checks(most=10)
    members = closed_object.ClosedObject(checks, "x", value, KNOWN, hints={"nmae": "write name"})
    members.text("name", name, is_required=True)
    members.texts("names", name, most=2)
    members.integer("size", low=1, high=9)
    members.boolean("is_big")
    members.choice("colour", Colour, default=Colour.RED)
    members.inner("inner", ("a",)).integer("a", low=0, high=1)
    members.texts_by_key("by_key", name, name)
    try:
        checks.finish()
    except errors.InvalidField as error:
        return [f"{violation.field}: {violation.description}" for violation in error.violations]
    return []


@pytest.mark.parametrize(
    "value",
    [
        {"name": "a"},
        {"name": "a", "names": ["b", "c"], "size": 9, "is_big": True, "colour": "blue", "inner": {"a": 0}},
        {"name": "a", "by_key": {"k": "v"}},
    ],
)
def test_what_is_as_it_must_be_is_read(value: JsonValue) -> None:
    assert read(value) == []


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "x: must be an object with name, names, size, is_big, colour, inner, by_key, and not a list"),
        ({}, "x.name: must be given"),
        ({"name": 5}, "x.name: must be text, and not a number; put quotes around it"),
        ({"name": None}, "x.name: must be text, and not null; leave it out where there is none"),
        ({"name": "a", "nmae": "b"}, "x.nmae: there is no such field; write name"),
        ({"name": "a", "colur": "b"}, "x.colur: there is no such field; did you mean colour?"),
        ({"name": "a", "is": "b"}, "x.is: there is no such field; did you mean is_big?"),
        ({"name": "a", "??": "b"}, 'x["??"]: there is no such field; known are by_key, colour, inner'),
        ({"name": "a", "names": "b"}, 'x.names: must be a list, and not the text "b"'),
        ({"name": "a", "names": ["b", "c", "d"]}, "x.names: has 3 entries; at most 2 are allowed"),
        ({"name": "a", "names": ["b", 1]}, "x.names[1]: must be text, and not a number"),
        ({"name": "a", "size": 0}, "x.size: is 0; it must be from 1 to 9"),
        ({"name": "a", "size": True}, "x.size: must be a whole number from 1 to 9, and not true"),
        ({"name": "a", "size": "1"}, 'x.size: must be a whole number from 1 to 9, and not the text "1"; write'),
        ({"name": "a", "is_big": "yes"}, 'x.is_big: must be true or false, and not the text "yes"; write true'),
        ({"name": "a", "colour": "green"}, 'x.colour: must be one of red, blue, and not the text "green"'),
        ({"name": "a", "inner": {"b": 1}}, "x.inner.b: there is no such field; known are a"),
        ({"name": "a", "inner": None}, "x.inner: must be an object with a, and not null"),
        ({"name": "a", "by_key": {"a b": "c"}}, 'x.by_key["a b"]: "a b" is not a name'),
        ({"name": "a", "by_key": {"k": []}}, "x.by_key.k: must be text, and not a list"),
    ],
)
def test_what_is_wrong_is_told_with_its_path_and_what_to_do(value: JsonValue, sentence: str) -> None:
    [told] = read(value)
    assert told.startswith(sentence)


def test_only_so_many_mistakes_are_told() -> None:
    assert len(read({f"unknown{number}": 1 for number in range(100)})) == 10


def test_a_name_is_near_to_what_it_may_have_been() -> None:
    assert closed_object.nearest("dsk", ["net", "disk"]) == "did you mean disk?"
    assert closed_object.nearest("zzz", ["net", "disk"]) == "known are disk, net"
    assert closed_object.nearest("zzz", [f"n{number:02}" for number in range(99)]).endswith("n14 and more")
    assert closed_object.nearest("zzz", []) == "there are none"
