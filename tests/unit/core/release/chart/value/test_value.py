"""How values lie over each other, piece by piece."""

import copy
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.release.chart.value import value
from tinkwell.core.release.chart.value.value import NOTHING, Layer
from tinkwell.core.value.document import JsonObject, JsonValue

_KEYS = st.sampled_from("abc")
_SCALARS: st.SearchStrategy[JsonValue] = st.none() | st.integers(0, 3)
_VALUES: st.SearchStrategy[JsonObject] = st.dictionaries(
    _KEYS,
    st.recursive(_SCALARS, lambda inner: st.dictionaries(_KEYS, inner, max_size=3) | st.lists(inner), max_leaves=8),
)


@pytest.mark.parametrize(
    "layers, expected",
    [
        ([], NOTHING),
        ([{}], NOTHING),
        ([{"a": {"b": 1}}], 1),
        ([{"a": {"b": 2}}, {"a": {"b": 1}}], 2),
        ([{"a": {}}, {"a": {"b": 1}}], 1),
        ([{"a": {"b": None}}, {"a": {"b": 1}}], NOTHING),
        ([{"a": None}, {"a": {"b": 1}}], NOTHING),
        ([{"a": 1}, {"a": {"b": 1}}], NOTHING),
        ([{"a": {"b": {}}}, {"a": {"b": 1}}], {}),
    ],
)
def test_a_value_is_found_in_the_highest_layer_that_says_something(
    layers: list[JsonObject], expected: value.Found
) -> None:
    assert value.find([Layer("", layer) for layer in layers], ("a", "b")) == expected


@given(st.lists(_VALUES, max_size=5))
def test_a_pile_is_what_comes_of_laying_values_over_each_other(parts: list[JsonObject]) -> None:
    given_parts = copy.deepcopy(parts)
    pile = value.Pile()
    expected: JsonObject = {}
    for part in parts:
        pile.put_under(part)
        expected = value.overlay(expected, part)
    assert pile.values == expected
    assert parts == given_parts


@given(_VALUES)
def test_values_without_nulls_are_the_same_object_where_there_is_none(values: JsonObject) -> None:
    cleaner = value.Cleaner()
    clean = cleaner.without_nulls(values)
    assert cleaner.without_nulls(clean) is clean
    assert cleaner.without_nulls(values) is clean
    assert (clean is values) == (clean == values)


@pytest.mark.parametrize(
    "measured, depth",
    [(None, 0), ("", 0), (Decimal("1.5"), 0), ({}, 1), ([], 1), ({"a": 1}, 1), ({"a": [1, {"b": {}}]}, 4)],
)
def test_values_are_measured_about_as_long_as_their_json(measured: JsonValue, depth: int) -> None:
    size, found = value.Cleaner().measure(measured)
    assert found == depth
    assert len(str(measured)) <= size + 3
    assert value.Cleaner().measure({"a": "x" * 1_000})[0] in range(1_000, 1_020)


def test_paths_are_keys_between_dots() -> None:
    assert value.parse_path("a.b-c.0") == ("a", "b-c", "0")
    assert value.parse_path(".") == value.parse_path("") == ()
    assert value.parse_path(".a..b.") == ("a", "b")
