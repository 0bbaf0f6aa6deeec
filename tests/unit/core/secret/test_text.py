"""Which texts of sensitive values are secret, and which values are refused."""

import decimal

import pytest

from tinkwell.core import errors
from tinkwell.core.secret import text
from tinkwell.core.value.document import JsonValue


def refusals(*values: JsonValue) -> list[tuple[str, str]]:
    with pytest.raises(errors.InvalidField) as refused:
        text.texts_of((f"v[{index}]", value) for index, value in enumerate(values))
    return [(violation.field, violation.description) for violation in refused.value.violations]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hunter22", {"hunter22"}),
        ("  hunter22\n", {"hunter22"}),
        ("пароль", {"пароль"}),
        (1234567, {"1234567"}),
        (decimal.Decimal("1.10000"), {"1.10000"}),
        ({"user": "somebody", "ports": [123456, None, True, ""]}, {"somebody", "123456"}),
        (None, set()),
        ("", set()),
        ("   \n   ", set()),
        (True, set()),
        ({}, set()),
    ],
)
def test_the_texts_of_a_value_are_its_strings_and_numbers(value: JsonValue, expected: set[str]) -> None:
    assert text.texts_of([("v", value)]) == expected


@pytest.mark.parametrize("value", ["x", "12345", "  abc  ", 12345, ["pwd"], {"a": {"b": "pwd"}}])
def test_a_value_below_six_bytes_is_refused_by_its_field_and_not_told(value: JsonValue) -> None:
    [(field, description)] = refusals("long enough", value)
    assert field == "v[1]"
    assert "at least 6 are needed" in description
    assert not any(bare in description for bare in ("12345", "abc", "pwd"))


def test_every_value_that_is_too_short_is_named_at_once() -> None:
    assert [field for field, _ in refusals("x", "long enough", ["y", "z"])] == ["v[0]", "v[2]"]


def test_more_than_can_be_looked_for_is_refused() -> None:
    [(_, description)] = refusals(*(f"secret-{number}" for number in range(text.MAX_TEXTS + 1)))
    assert description == "there are 1,001 secret texts; at most 1,000 are allowed"
    [(_, description)] = refusals("x" * (text.MAX_BYTES + 1))
    assert description == "secret texts have 32,769 bytes together; at most 32,768 are allowed"
    assert text.texts_of([("v", "x" * text.MAX_BYTES)])


def test_the_same_text_counts_once() -> None:
    assert text.texts_of(("v", "x" * 20_000) for _ in range(2_000)) == {"x" * 20_000}
