"""Checks values of callers, writes them into the fields of messages, and reads such fields."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from google.protobuf import message as protobuf_message
from google.protobuf import timestamp_pb2

from tinkwell.client import errors
from tinkwell.core.errors import Violation

E = TypeVar("E", bound=StrEnum)


M = TypeVar("M", bound=protobuf_message.Message)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def member(kind: type[E], value: str, field: str) -> E:
    """Return an enum member, given as itself or by its name; raises `InvalidField` that lists the names."""
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(item.value for item in kind)
        raise errors.InvalidField.of(field, f"{value!r} is none of {choices}") from None


def to_json_text(value: Mapping[str, Any] | str | None, field: str) -> str:
    """Return a JSON object as text. Text is checked and returned as it is; None becomes empty text."""
    if value is None:
        return ""
    try:
        if isinstance(value, str):
            return _object_text(value, field)
        if isinstance(value, Mapping):
            text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
            text.encode()
            return text
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.InvalidField.of(field, f"is not JSON: {error}") from error
    raise errors.InvalidField.of(field, f"must be an object, not {type(value).__name__}")


def _object_text(text: str, field: str) -> str:
    # The server checks numbers. Python refuses to read those with thousands of digits, so they stay texts here.
    if not isinstance(json.loads(text, parse_int=str, parse_float=str), dict):
        raise errors.InvalidField.of(field, "must be a JSON object")
    return text


def build(make: type[M], **fields: object) -> M:
    """Build a request; raises `InvalidField` for values that do not fit. A field whose value is None is left out."""
    violations = [Violation(name, why) for name, value in fields.items() if (why := _mistaken(make, name, value))]
    if violations:
        raise errors.InvalidField.of_all(violations)
    try:
        return make(**fields)
    except (TypeError, ValueError) as error:
        misfits = [Violation(name, why) for name, value in fields.items() if (why := _misfit(make, name, value))]
        raise errors.InvalidField.of_all(misfits) from error


def _mistaken(make: type[protobuf_message.Message], name: str, value: object) -> str:
    """Say what is wrong with a value that protobuf would misread."""
    if value is None and not make.DESCRIPTOR.fields_by_name[name].has_presence:
        return "is needed"
    if isinstance(value, bytes) and (field := make.DESCRIPTOR.fields_by_name[name]).type == field.TYPE_STRING:
        return "must be a string, not bytes"
    return ""


def _misfit(make: type[protobuf_message.Message], name: str, value: object) -> str:
    """Say why protobuf refuses a value."""
    if mistaken := _mistaken(make, name, value):
        return mistaken
    try:
        make(**{name: value})
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def exactly_one(**choices: str | None) -> dict[str, Any]:
    """Return the one choice that is set; raises `InvalidField` if none is, or several are."""
    given = {name: value for name, value in choices.items() if value is not None}
    if len(given) != 1:
        raise errors.InvalidField.of(" or ".join(choices), f"exactly one is needed, not {len(given)}")
    return given


def time(source: Any, field: str) -> datetime | None:
    if not source.HasField(field):
        return None
    moment: timestamp_pb2.Timestamp = getattr(source, field)
    try:
        # The same as the message's `ToDatetime`, but faster.
        return _EPOCH + timedelta(0, moment.seconds, moment.nanos // 1_000)
    except OverflowError as error:
        raise errors.Error(f"the server sent a time that no calendar has: {moment.seconds} seconds") from error


def present(source: Any, field: str) -> Any:
    return getattr(source, field) if source.HasField(field) else None
