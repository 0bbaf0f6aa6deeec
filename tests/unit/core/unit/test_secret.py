"""What a secret may have: its id, label and content, and when it expires."""

from datetime import UTC, datetime, timedelta

import pytest

from tinkwell.core import errors
from tinkwell.core.unit import limit, secret

ID = "c8rkvt3mp25c783t5f1g"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_an_id_is_twenty_characters_of_random_bytes() -> None:
    assert secret.new_id(bytes(range(20))) == "0123456789abcdefghij"
    assert secret.new_id(b"\xff" * 20) == "v" * 20
    with pytest.raises(ValueError, match="20 random bytes, not of 3"):
        secret.new_id(b"abc")


@pytest.mark.parametrize("text", [ID, f"secret:{ID}", f"secret://8d2f/{ID}"])
def test_a_secret_is_named_by_its_id_or_in_the_ways_of_charms(text: str) -> None:
    assert secret.parse_uri("id", text) == ID
    assert secret.parse_id("id", ID) == ID
    assert secret.uri(ID) == f"secret:{ID}"


@pytest.mark.parametrize(
    "text", ["", "secret:", ID[:-1], f"{ID}0", ID.upper(), f"secret:/{ID}", f"secret:// /{ID}", "w" * 20]
)
def test_what_names_no_secret_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField, match="names no secret"):
        secret.parse_uri("id", text)
    with pytest.raises(errors.InvalidField, match="is not the id of a secret"):
        secret.parse_id("id", text)


def test_content_is_a_map_of_keys_to_texts() -> None:
    assert secret.parse_content("content", {"password": "s3cret", "a1-b": ""}) == {"password": "s3cret", "a1-b": ""}
    full = {f"key{number}": "x" for number in range(limit.SECRET_KEYS)}
    assert secret.parse_content("content", full) == full


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "content: is empty"),
        ({f"key{number}": "" for number in range(65)}, "content: has 65 keys; a secret has at most 64"),
        ({"ab": "x"}, '"ab" is not a key of a secret; begin with a letter, use a-z, 0-9 and -, at least 3'),
        ({"Password": "x"}, '"Password" is not a key'),
        ({"1password": "x"}, "is not a key"),
        ({"pass_word": "x"}, "is not a key"),
        ({"password-": "x"}, "is not a key"),
        ({"key": "x" * limit.SECRET_BYTES}, "content: has 1048579 bytes; a secret has at most 1048576"),
        ({"key": "\ud800"}, "content.key: is not text"),
    ],
)
def test_bad_content_is_refused_without_telling_it(content: dict[str, str], message: str) -> None:
    with pytest.raises(errors.InvalidField, match=message) as caught:
        secret.parse_content("content", content)
    assert "xx" not in str(caught.value)


def test_a_label_is_a_short_text() -> None:
    assert secret.parse_label("label", "") == ""
    assert secret.parse_label("label", "db password") == "db password"
    with pytest.raises(errors.InvalidField, match="has 101 characters; a label of a secret has at most 100"):
        secret.parse_label("label", "x" * 101)
    with pytest.raises(errors.InvalidField, match="control character"):
        secret.parse_label("label", "a\nb")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", NOW + timedelta(minutes=90)),
        ("1h30m", NOW + timedelta(minutes=90)),
        ("7d", NOW + timedelta(days=7)),
        ("2w", NOW + timedelta(days=14)),
        ("1.5s", NOW + timedelta(seconds=1.5)),
        ("500ms", NOW + timedelta(seconds=0.5)),
        ("2030-01-31T12:00:00Z", datetime(2030, 1, 31, 12, tzinfo=UTC)),
        ("2030-01-31T12:00:00+02:00", datetime(2030, 1, 31, 10, tzinfo=UTC)),
        ("2030-01-31T12:00:00.250", datetime(2030, 1, 31, 12, 0, 0, 250000, tzinfo=UTC)),
    ],
)
def test_an_expiry_is_a_duration_or_a_time(text: str, expected: datetime) -> None:
    assert secret.parse_expiry("expire", text, NOW) == expected


@pytest.mark.parametrize("text", ["", "soon", "5", "5 m", "-5m", "h", "5m!", "9" * 5000 + "m", "2030-13-01"])
def test_what_says_no_time_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField, match="is not a time; write a duration such as 90m"):
        secret.parse_expiry("expire", text, NOW)


@pytest.mark.parametrize(
    "text", ["0s", "2026-05-01T12:00:00Z", "2001-01-01T00:00:00Z", "99999w", "2999-01-01T00:00:00Z"]
)
def test_an_expiry_that_is_past_or_too_far_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField, match="is not within the next 100 years"):
        secret.parse_expiry("expire", text, NOW)
