"""Strict JSON: exact in both directions, and hostile texts refused with their place."""

import decimal
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.value import document


def violations_of(text: str | bytes, *, max_bytes: int = document.MAX_DOCUMENT_BYTES) -> list[tuple[str, str]]:
    with pytest.raises(errors.InvalidField) as refused:
        document.parse_json("data", text, max_bytes=max_bytes)
    return [(violation.field, violation.description) for violation in refused.value.violations]


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1.10,"b":[0.1000000000000000055,-0.0,12345678901234567890123]}',
        '{"é":"\U0001f600","list":[null,true,false,{}],"empty":[]}',
        '["\\\\u0000","\\"","\\n"]',
        "0",
        '"text"',
        "null",
        "99999999999999999999999999999999999999999999999999999999999999.9",
    ],
)
def test_a_compact_document_survives_a_round_trip_to_the_letter(text: str) -> None:
    assert document.dump_json(document.parse_json("data", text)) == text
    assert document.dump_json(document.parse_json("data", text.encode())) == text


def test_integers_are_int_and_other_numbers_decimal() -> None:
    parsed = document.parse_json("data", "[1, 1.0, 1e2]")
    assert parsed == [1, 1, 100]
    assert isinstance(parsed, list)
    assert [type(number) for number in parsed] == [int, decimal.Decimal, decimal.Decimal]


def test_an_escaped_pair_of_surrogates_is_one_character() -> None:
    assert document.parse_json("data", '"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize(
    "number",
    [
        *("1e308", "-1e308", "1.7976931348623157e308", "1e-308", "1e-320", "5e-324", "-0.0", "0e0", "0.0e-300"),
        *(str(2**63), str(-(2**63)), str(2**64), "1" + "0" * 308, "-1" + "0" * 308, "0." + "0" * 323 + "5"),
    ],
)
def test_every_number_that_a_double_can_hold_is_taken(number: str) -> None:
    document_of_it = document.parse_json("data", f'{{"v": {number}}}')
    assert document_of_it == {"v": decimal.Decimal(number)}
    assert document.parse_json("data", document.dump_json(document_of_it)) == document_of_it


@pytest.mark.parametrize(
    ("text", "field", "problem"),
    [
        ("", "data", "is empty"),
        (" \n", "data", "is empty"),
        ("{", "data", "line 1, column 2: Expecting property name"),
        ('{"a": 1,\n "b": x}', "data", "line 2, column 7: Expecting value"),
        ("{} {}", "data", "line 1, column 4: Extra data"),
        ("{'a': 1}", "data", "line 1, column 2"),
        ('{"a": 1,}', "data", "line 1, column"),
        ("[1 // comment\n]", "data", "line 1, column 4"),
        ("\ufeff{}", "data", "byte order mark"),
        (b"\xff{}", "data", "must be UTF-8; the byte at place 0"),
        (b'"\xed\xa0\x80"', "data", "must be UTF-8"),
        ('"a\ud800"', "data", "line 1, column 3: a lone surrogate"),
        ('["a",\n{"b": "\\udfff"}]', "data[1].b", "holds a lone surrogate"),
        ('{"a": {"b c": "\\u0000"}}', 'data.a["b c"]', "holds the NUL character"),
        ('{"a\\u0000": 1}', "data", "a key"),
        ('"\0"', "data", "line 1, column 2: Invalid control character"),
        ('{"a": 1, "b": 2, "a": 1}', "data", 'the key "a" occurs twice'),
        ('{"a": [{"k": 1, "\\u006b": 2}]}', "data.a[0]", 'the key "k" occurs twice'),
        ("[NaN]", "data[0]", "NaN is not a JSON number"),
        ("[-Infinity]", "data[0]", "-Infinity is not a JSON number"),
        ('{"n": 1e309}', "data.n", "1e309 is beyond what a double can hold, which is 1.797e308 at most"),
        ('{"n": -1.8e308}', "data.n", "-1.8e308 is beyond what a double can hold, which is 1.797e308 at most"),
        ('{"n": 1e400}', "data.n", "1e400 is beyond what a double can hold, which is 1.797e308 at most"),
        ('{"n": 2e-324}', "data.n", "2e-324 is beyond what a double can hold, which is 5e-324 at least"),
        ('{"n": 1e999999999999999999999}', "data.n", "beyond what a double can hold"),
        ('{"n": 1e-999999999999999999999}', "data.n", "beyond what a double can hold"),
        ('{"n": 0e-20000}', "data.n", "0e-20000 is zero; leave its exponent out"),
        ('{"n": 2' + "0" * 308 + "}", "data.n", "2000000000… is beyond what a double can hold"),
        ('{"n": 1' + "0" * 400 + "}", "data.n", "401 characters; at most 64"),
        ('{"n": ' + "1" * 65 + "}", "data.n", "65 characters; at most 64"),
        ("[0." + "1" * 100 + "]", "data[0]", "102 characters; at most 64"),
        ("1" * 5_000, "data", "5,000 characters; at most 64"),
        ("[" * 100_000, "data", "line 1, column 65: is nested deeper than 64 levels"),
        ('{"a":' * 100_000, "data", "nested deeper than 64 levels"),
        ("[" * 65 + "]" * 65, "data", "nested deeper than 64 levels"),
    ],
)
def test_a_hostile_document_is_refused_with_its_place(text: str | bytes, field: str, problem: str) -> None:
    assert [(field, True)] == [(found, problem in description) for found, description in violations_of(text)]


def test_all_that_is_wrong_is_told_up_to_a_limit() -> None:
    assert len(violations_of('["\\u0000", NaN, 1e400, {"a": 1, "a": 2}]')) == 4
    assert len(violations_of("[" + "NaN," * 5_000 + "0]")) == document.MAX_VIOLATIONS


def test_brackets_within_text_do_not_count_as_nesting() -> None:
    text = json.dumps(["[" * 1_000, '"[' * 1_000, "\\"])
    assert document.dump_json(document.parse_json("data", text)) == document.dump_json(json.loads(text))


def test_64_levels_are_allowed() -> None:
    assert document.dump_json(document.parse_json("data", "[" * 64 + "]" * 64)) == "[" * 64 + "]" * 64


def test_an_unterminated_text_full_of_quotes_is_refused_in_one_pass() -> None:
    assert "Unterminated string" in violations_of('"' + '\\"' * 500_000)[0][1]


@pytest.mark.parametrize("text", [b'"' + b"a" * 1024 * 1024 + b'"', '"' + "é" * 600_000 + '"'])
def test_a_document_of_more_than_a_mebibyte_is_refused(text: str | bytes) -> None:
    assert "at most 1,048,576 are allowed" in violations_of(text)[0][1]


def test_the_limit_of_bytes_is_the_callers() -> None:
    assert document.parse_json("data", "12345", max_bytes=5) == 12345
    assert "has 6 bytes; at most 5" in violations_of("123456", max_bytes=5)[0][1]


@pytest.mark.parametrize(
    ("text", "found"), [("[]", "a list"), ('"a"', "a string"), ("1", "a number"), ("null", "null"), ("true", "true")]
)
def test_what_is_not_an_object_is_refused_where_one_is_needed(text: str, found: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        document.parse_json_object("data", text)
    assert found in str(refused.value)


def test_dumping_refuses_what_json_cannot_hold() -> None:
    for wrong in (float("nan"), decimal.Decimal("Infinity")):
        with pytest.raises(ValueError, match="no form in JSON"):
            document.dump_json([wrong])
    with pytest.raises(TypeError, match="object has no form in JSON"):
        document.dump_json({"a": object()})
    with pytest.raises(TypeError, match="is not a string"):
        document.dump_json({1: "a"})
    assert document.dump_json({"a": (1, 0.5)}) == '{"a":[1,0.5]}'


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**60), max_value=10**60)
    | st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=5)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda items: (
        st.lists(items)
        | st.dictionaries(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), items)
    ),
    max_leaves=20,
)


@given(json_values)
def test_every_value_survives_a_round_trip(parsed: document.JsonValue) -> None:
    text = document.dump_json(parsed)
    again = document.parse_json("data", text)
    assert again == parsed
    assert document.dump_json(again) == text


@given(st.text(alphabet='[]{}",:\\u0dD8 \n1e-.+NaInfity', max_size=40))
def test_every_text_is_parsed_or_refused(text: str) -> None:
    try:
        parsed = document.parse_json("data", text)
    except errors.InvalidField:
        return
    assert document.parse_json("data", document.dump_json(parsed)) == parsed


@given(json_values)
def test_a_value_that_was_built_is_checked_and_returned_as_it_would_be_parsed(built: document.JsonValue) -> None:
    assert document.check_json("x", built) == built


def test_what_was_built_with_floats_and_tuples_is_returned_as_json() -> None:
    assert document.check_json("x", {"a": (1.5, 2)}) == {"a": [decimal.Decimal("1.5"), 2]}


@pytest.mark.parametrize(
    ("built", "sentence"),
    [
        ({"a": ["\0"]}, 'x.a[0]: the text "\\u0000" holds the NUL character'),
        ({"\ud800": 1}, 'x: a key "\\ud800" holds a lone surrogate'),
        ({"a": float("nan")}, "x: nan has no form in JSON"),
        ({"a": {1, 2}}, "x: set has no form in JSON"),
        ("a" * 30, "x: has 32 bytes; at most 20 are allowed"),
        (json.loads("[" * 65 + "]" * 65), "x: is nested deeper than 64 levels"),
        (json.loads("[" * 900 + "]" * 900), "x: is nested deeper than 64 levels"),
    ],
)
def test_what_was_built_and_cannot_be_stored_is_refused_by_its_path(built: object, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        document.check_json("x", built, max_bytes=20 if isinstance(built, str) else 10_000)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ('{"a": 1, "b": [1.0, "x"]}', '{"b": [1, "x"], "a": 1.00}', True),
        ('{"a": 1}', '{"a": true}', False),
        ("[0]", "[false]", False),
        ("[1]", "[1, 1]", False),
        ('{"a": null}', "{}", False),
        ("[]", "{}", False),
        ('"1"', "1", False),
        ("null", "null", True),
    ],
)
def test_values_are_the_same_whatever_their_spelling(first: str, second: str, expected: bool) -> None:
    values = document.parse_json("f", first), document.parse_json("f", second)
    assert document.is_same(*values) is document.is_same(*values[::-1]) is expected
