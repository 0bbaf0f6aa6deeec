"""The ids, labels, contents and expiry times of secrets, as charms and people write them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from tinkwell.core import errors
from tinkwell.core.unit import limit
from tinkwell.core.value import parse

# The number of random bytes that make an id.
ID_BYTES = 20
KEY_CHARACTERS = 3

_ALPHABET = "0123456789abcdefghijklmnopqrstuv"
_ID = re.compile(r"[0-9a-v]{20}")
_URI = re.compile(r"(?:secret:(?://[^/\s]+/)?)?([0-9a-v]{20})")
_KEY = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhdw])")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_TEXT_CHARACTERS = 64
_LONGEST = timedelta(days=36500)


def new_id(random: bytes) -> str:
    """Return the id that `ID_BYTES` random bytes make: 20 characters of 0-9 and a-v."""
    if len(random) != ID_BYTES:
        raise ValueError(f"an id is made of {ID_BYTES} random bytes, not of {len(random)}")
    return "".join(_ALPHABET[each & 31] for each in random)


def parse_id(field: str, text: str) -> str:
    """Parse the id of a secret; raises `errors.InvalidField`."""
    if not _ID.fullmatch(text):
        raise errors.InvalidField.of(
            field, f"{parse.show(text)} is not the id of a secret; write 20 characters of 0-9 and a-v"
        )
    return text


def parse_uri(field: str, text: str) -> str:
    """Return the id in a charm's form of it: `secret:ID`, `secret://MODEL/ID`, or the id alone.

    Raises `errors.InvalidField`.
    """
    found = _URI.fullmatch(text)
    if not found:
        raise errors.InvalidField.of(
            field, f"{parse.show(text)} names no secret; write secret: and its id, 20 characters of 0-9 and a-v"
        )
    return found[1]


def uri(secret: str) -> str:
    """Return the form in which charms write the secret with this id."""
    return f"secret:{secret}"


def parse_label(field: str, text: str) -> str:
    """Parse a label; "" means no label. Raises `errors.InvalidField`."""
    if len(text) > limit.SECRET_LABEL_CHARACTERS:
        raise errors.InvalidField.of(
            field,
            f"has {len(text)} characters; a label of a secret has at most {limit.SECRET_LABEL_CHARACTERS}",
        )
    most = 4 * limit.SECRET_LABEL_CHARACTERS
    return parse.parse_text(field, text, max_bytes=most, allow_empty=True)


def parse_content(field: str, content: Mapping[str, str]) -> dict[str, str]:
    """Parse the content of a revision; raises `errors.InvalidField`, whose text shows keys and no value."""
    if not content:
        raise errors.InvalidField.of(field, "is empty; give at least one key with a value")
    if len(content) > limit.SECRET_KEYS:
        raise errors.InvalidField.of(
            field, f"has {len(content)} keys; a secret has at most {limit.SECRET_KEYS}, so split it into two secrets"
        )
    for key in content:
        _check_key(field, key)
    size = sum(len(key) + _size(f"{field}.{key}", value) for key, value in content.items())
    if size > limit.SECRET_BYTES:
        raise errors.InvalidField.of(
            field, f"has {size} bytes; a secret has at most {limit.SECRET_BYTES}, so split it into two secrets"
        )
    return dict(content)


def _check_key(field: str, key: str) -> None:
    if len(key) < KEY_CHARACTERS or not _KEY.fullmatch(key):
        raise errors.InvalidField.of(
            field,
            f"{parse.show(key)} is not a key of a secret; begin with a letter, use a-z, 0-9 and -, at least "
            f"{KEY_CHARACTERS} of them, and do not end with -",
        )


def _size(field: str, value: str) -> int:
    try:
        return len(value.encode())
    except UnicodeEncodeError:
        raise errors.InvalidField.of(field, "is not text: it has half a character; encode it in base64") from None


def parse_expiry(field: str, text: str, now: datetime) -> datetime:
    """Return when a revision expires: `text` is a duration from now, such as 90m, 1h30m or 7d, or an RFC 3339 time.

    A time without a zone is in UTC. Raises `errors.InvalidField`, also if the time is past.
    """
    moment = _after(text, now) or _moment(text)
    if moment is None:
        raise errors.InvalidField.of(
            field,
            f"{parse.show(text)} is not a time; write a duration such as 90m or 7d, or a time such as "
            "2030-01-31T12:00:00Z",
        )
    if not now < moment < now + _LONGEST:
        raise errors.InvalidField.of(field, f"{parse.show(text)} is not within the next 100 years; give a later time")
    return moment


def _after(text: str, now: datetime) -> datetime | None:
    parts = _PART.findall(text[:_TEXT_CHARACTERS])
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return now + min(timedelta(seconds=min(seconds, _LONGEST.total_seconds())), _LONGEST)


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
