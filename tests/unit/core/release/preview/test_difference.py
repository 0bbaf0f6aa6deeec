"""Where documents differ, and how much of that a plan shows."""

import pytest

from tinkwell.core.release.preview import difference
from tinkwell.core.release.preview.model import MAX_DIFFERENCES, Difference
from tinkwell.core.value.document import JsonValue


def shown(before: JsonValue, after: JsonValue, *hidden: tuple[str, ...]) -> list[tuple[str, str | None, str | None]]:
    found: tuple[Difference, ...] = difference.shown(
        difference.differences("config", before, after), hidden=hidden, cover="•••"
    )
    return [(each.pointer, each.before, each.after) for each in found]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1}, []),
        ({"a": 1}, {"a": 1.5}, [("/config/a", "1", "1.5")]),
        ({"a": 1}, {"b": None}, [("/config/a", "1", None), ("/config/b", None, "null")]),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, [("/config/a/1/b", "2", "3")]),
        ({"a": [1]}, {"a": [1, 2]}, [("/config/a", "[1]", "[1,2]")]),
        ({"a/b": {"~": "x"}}, {"a/b": {"~": "y"}}, [("/config/a~1b/~0", '"x"', '"y"')]),
        ({"a": {}}, {"a": []}, [("/config/a", "{}", "[]")]),
    ],
)
def test_places_are_told_with_both_values(
    before: JsonValue, after: JsonValue, expected: list[tuple[str, str | None, str | None]]
) -> None:
    assert [
        (place, old and old.replace(", ", ","), new and new.replace(", ", ","))
        for place, old, new in shown(before, after)
    ] == expected


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [
        (("a",), ("/config/a", '"•••"', '"•••"')),
        (("a", "users"), ("/config/a", '{"users":"•••"}', '"none"')),
        (("a", "users", "0", "key"), ("/config/a", '{"users":[{"key":"•••","name":"Ada"},null]}', '"none"')),
        (("a", "users", "1"), ("/config/a", '{"users":[{"key":"k","name":"Ada"},null]}', '"none"')),
        (("b",), ("/config/a", '{"users":[{"key":"k","name":"Ada"},null]}', '"none"')),
    ],
)
def test_what_is_hidden_is_covered_wherever_it_is_in_a_value(
    hidden: tuple[str, ...], expected: tuple[str, str, str]
) -> None:
    before: JsonValue = {"a": {"users": [{"key": "k", "name": "Ada"}, None]}}
    (found,) = shown(before, {"a": "none"}, hidden)
    assert tuple(text and text.replace(", ", ",").replace(": ", ":") for text in found) == expected


def test_a_value_that_is_too_long_is_told_by_its_size_and_so_many_places_are_told() -> None:
    ((_, before, after),) = shown({"a": "x" * 2_000}, {"a": "y"})
    assert (before, after) == ('"(2,002 bytes)"', '"y"')
    many: JsonValue = {str(number): number for number in range(MAX_DIFFERENCES + 5)}
    assert len(shown(many, {})) == MAX_DIFFERENCES


def test_what_is_below_a_place_is_known() -> None:
    assert difference.is_below(("config", "a", "b"), {("a",)})
    assert not difference.is_below(("config", "a"), {("a", "b")})
