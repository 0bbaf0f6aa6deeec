"""Names, paths and JSON pointers of manifests."""

from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.release.manifest import name


@pytest.mark.parametrize(("path", "parts"), [("disk", ("disk", None)), ("disk[a.b-1]", ("disk", "a.b-1"))])
def test_a_path_is_a_name_and_maybe_a_key(path: str, parts: tuple[str, str | None]) -> None:
    assert name.parse_path("x", path) == path
    assert name.split_path(path) == parts
    assert name.join_path(*parts) == path


@pytest.mark.parametrize(
    "path", ["", "1", "a[", "a[]", "a[b]c", "a[b][c]", "a b", "a[../x]", "a\n", "a" * 129, f"a[{'b' * 65}]"]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(errors.InvalidField, match="is not the path of a resource"):
        name.parse_path("x", path)


@pytest.mark.parametrize(
    ("text", "has_one"), [("{{ x }}", True), ("{% if %}", True), ("{# x #}", True), ("{x} {", False)]
)
def test_an_expression_is_known_by_how_it_opens(text: str, has_one: bool) -> None:
    assert name.has_expression(text) is has_one


DOCUMENT = {"a": [{"b/c": 1, "~": 2}], "": {"": 3}}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", ("x", DOCUMENT)),
        ("/a/0/b~1c", ('x.a[0]["b/c"]', 1)),
        ("/a/0/~0", ('x.a[0]["~"]', 2)),
        ("//", ('x[""][""]', 3)),
    ],
)
def test_a_pointer_is_followed_to_its_field(pointer: str, found: Any) -> None:
    assert name.locate("x", DOCUMENT, name.parse_pointer("p", pointer)) == found  # type: ignore[arg-type]


@pytest.mark.parametrize("pointer", ["/b", "/a/1", "/a/-1", "/a/x", "/a/0/b~1c/d", "/a/²", "/a/99999999999999999999"])
def test_a_pointer_to_nothing_is_refused(pointer: str) -> None:
    with pytest.raises(errors.InvalidField, match="has nothing at the JSON pointer"):
        name.locate("x", DOCUMENT, pointer)  # type: ignore[arg-type]


def test_pointers_are_built_part_by_part() -> None:
    assert name.pointer_child(name.pointer_child("", "a"), 0) == "/a/0"
    assert name.pointer_child("", "~/") == "/~0~1"
