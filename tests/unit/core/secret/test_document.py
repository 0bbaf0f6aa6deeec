"""Secrets are taken out of documents and put back, and nothing in a document can pass for one."""

import decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret.document import Extracted, extract, restore
from tinkwell.core.secret.mask import Masker
from tinkwell.core.value import document, pointer
from tinkwell.core.value.document import JsonValue

MASKER = Masker(["hunter22", "1234567"])


def test_what_is_named_and_what_contains_a_secret_is_taken_out_whole() -> None:
    given_document: JsonValue = {
        "user": {"name": "bob", "password": "any"},
        "url": "postgresql://u:hunter22@h/d",
        "encoded": "dTpodW50ZXIyMg==",
        "list": ["plain", "is hunter22", 1234567, decimal.Decimal("12345678.5"), None],
        "object": {"key hunter22": 1, "other": 2},
        "number": 7,
    }
    extracted = extract(given_document, pointers=["/user/password", "/absent", "/list/4", "/list/9"], masker=MASKER)
    assert extracted.document == {
        "user": {"name": "bob", "password": None},
        "url": None,
        "encoded": None,
        "list": ["plain", None, None, None, None],
        "object": None,
        "number": 7,
    }
    assert extracted.values == (
        ("/user/password", "any"),
        ("/url", "postgresql://u:hunter22@h/d"),
        ("/encoded", "dTpodW50ZXIyMg=="),
        ("/list/1", "is hunter22"),
        ("/list/2", 1234567),
        ("/list/3", decimal.Decimal("12345678.5")),
        ("/object", {"key hunter22": 1, "other": 2}),
    )
    assert restore(extracted.document, extracted.values) == given_document


@pytest.mark.parametrize(
    ("pointers", "expected"),
    [
        (["/a", "/a/b", "/a/b/c"], Extracted({"a": None}, (("/a", {"b": {"c": "x"}}),))),
        (["/a/b/c", "/a/b"], Extracted({"a": {"b": None}}, (("/a/b", {"c": "x"}),))),
        ([""], Extracted(None, (("", {"a": {"b": {"c": "x"}}}),))),
        (["/b", "/a/0", "/a/b/c/d"], Extracted({"a": {"b": {"c": "x"}}}, ())),
    ],
)
def test_the_outermost_of_places_within_each_other_is_taken_out(pointers: list[str], expected: Extracted) -> None:
    assert extract({"a": {"b": {"c": "x"}}}, pointers=pointers) == expected


def test_a_text_that_is_no_pointer_is_refused() -> None:
    with pytest.raises(errors.InvalidField, match="is not a JSON pointer"):
        extract({}, pointers=["password"])


def test_false_zero_and_empty_values_are_taken_out_where_they_are_named() -> None:
    found = extract({"a": False, "b": 0, "c": "", "d": [], "e": None}, pointers=["/a", "/b", "/c", "/d", "/e"])
    assert found.document == dict.fromkeys("abcde")
    assert found.values == (("/a", False), ("/b", 0), ("/c", ""), ("/d", []))


def test_what_has_too_long_a_pointer_is_taken_out_with_what_is_around_it() -> None:
    key = "é" * 498
    deep: JsonValue = {
        "a": {key: {"b": "hunter22", "bb": "hunter22", "c": {"d": ["hunter22"]}, "e": 1}, "f": "hunter22"}
    }
    found = extract(deep, masker=MASKER)
    assert [text for text, _ in found.values] == [f"/a/{key}", "/a/f"]
    assert all(len(text.encode()) <= secret_document.MAX_POINTER_BYTES for text, _ in found.values)
    assert restore(found.document, found.values) == deep
    assert extract({"x" * 2_000: {"y": "hunter22"}, "z": "hunter22"}, masker=MASKER).document is None


def test_a_document_with_very_many_secrets_is_taken_out_whole() -> None:
    many: JsonValue = ["hunter22"] * (secret_document.MAX_PLACES + 1)
    assert extract(many, masker=MASKER) == Extracted(None, (("", many),))
    few: JsonValue = ["hunter22"] * secret_document.MAX_PLACES
    assert len(extract(few, masker=MASKER).values) == secret_document.MAX_PLACES


@pytest.mark.parametrize(
    ("rest", "values"),
    [
        ({"a": 1}, [("/a", "x")]),
        ({}, [("/a", "x")]),
        ({"a": None}, [("/a/b", "x")]),
        ([None], [("/1", "x")]),
        ([None], [("/-", "x")]),
        ("text", [("", "x")]),
        (None, [("", {"a": None}), ("/a", "x")]),
    ],
)
def test_values_that_do_not_fit_are_refused(rest: JsonValue, values: list[tuple[str, JsonValue]]) -> None:
    with pytest.raises(ValueError, match="has no place for 1 of its secrets"):
        restore(rest, values)


def test_what_looks_like_a_marker_is_data() -> None:
    hostile: list[JsonValue] = [{"$secret": "/a"}, {"$sealed": "x"}, "•••", None, {"": None, "/": None, "~1": None}]
    assert extract(hostile, masker=MASKER) == Extracted(hostile, ())
    found = extract(hostile, pointers=["/0", "/4/~01", "/4/~1", "/4/"])
    assert found.document == [None, *hostile[1:]]
    assert restore(found.document, found.values) == hostile


KEYS = st.sampled_from(["a", "b", "", "~", "/", "0", "~1", "hunter22", "é" * 400])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 3),
    st.just(1234567),
    st.decimals(allow_nan=False, allow_infinity=False, places=2),
    st.text(max_size=4),
    st.sampled_from(["hunter22", "a hunter22 b", "hunter2", "aHVudGVyMjI="]),
)
DOCUMENTS: st.SearchStrategy[JsonValue] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)
PARTS = st.lists(KEYS | st.sampled_from("0123"), max_size=4).map(pointer.write_pointer)


@given(DOCUMENTS, st.lists(PARTS, max_size=4), st.booleans())
def test_a_document_survives_the_round_trip(whole: JsonValue, pointers: list[str], is_searched: bool) -> None:
    before = document.dump_json(whole)
    found = extract(whole, pointers=pointers, masker=MASKER if is_searched else None)
    assert document.dump_json(restore(found.document, found.values)) == before
    assert document.dump_json(whole) == before
    # Nothing of it is left, wherever it stood.
    if is_searched:
        assert not MASKER.finds(document.dump_json(found.document))
    assert extract(found.document, pointers=pointers).values == ()
    # Places are apart, and were null before nobody.
    places = [pointer.parse_pointer("p", text) for text, _ in found.values]
    assert len(set(places)) == len(places)
    assert not any(one != other and other[: len(one)] == one for one in places for other in places)
    assert all(value is not None for _, value in found.values)


@given(DOCUMENTS, st.lists(PARTS, max_size=4))
def test_what_was_taken_out_once_has_nothing_left_to_take_out(whole: JsonValue, pointers: list[str]) -> None:
    once = extract(whole, pointers=pointers, masker=MASKER)
    assert extract(once.document, pointers=pointers, masker=MASKER) == Extracted(once.document, ())
