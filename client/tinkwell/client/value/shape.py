"""The JSON shape of a frozen dataclass, which `to_json` and `from_json` derive from the types of its fields.

Fields that are None are left out, and so are empty ones whose metadata is `OPTIONAL`; fields marked `HIDDEN` are not
part of the shape, and a field may be a dataclass itself. Times are RFC 3339 in UTC with six decimals. Reading ignores
keys it does not know, since a newer server may send more; a wrong type is an `InvalidField` that names the key.
"""

import dataclasses
import enum
import functools
import json
import types
import typing
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Protocol, TypeVar

from tinkwell.client import errors

OPTIONAL: Mapping[str, bool] = {"optional": True}
HIDDEN: Mapping[str, bool] = {"hidden": True}


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


T = TypeVar("T", bound=_Dataclass)


def parse(text: str) -> Any:
    """Read JSON text from the server; None for empty text."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError) as error:
        raise errors.Error(f"the server sent JSON that cannot be read: {error}") from error


def to_json(value: _Dataclass) -> dict[str, Any]:
    """Return the JSON object of a model object."""
    result: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        absent = content is None or field.metadata.get("hidden") or (field.metadata.get("optional") and not content)
        if not absent:
            result[field.name] = _encode(content)
    return result


def from_json(kind: type[T], data: object) -> T:
    """Read a model object from its JSON object; raises `InvalidField` that names a missing or wrong key."""
    if not isinstance(data, Mapping):
        raise errors.InvalidField.of("", f"a {kind.__name__} must be a JSON object, not {type(data).__name__}")
    values = {}
    for name, (decode, is_required) in _decoders(kind).items():
        if name in data:
            try:
                values[name] = decode(data[name])
            except (TypeError, ValueError) as error:
                raise errors.InvalidField.of(name, str(error)) from error
        elif is_required:
            raise errors.InvalidField.of(name, "is missing")
    return kind(**values)


def format_time(moment: datetime) -> str:
    """Format a time as RFC 3339 in UTC with six decimals, such as 2026-11-20T12:00:00.000000Z."""
    return _in_utc(moment).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _encode(value: object) -> object:
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_json(value)
    return value


@functools.cache
def _decoders(kind: type[Any]) -> dict[str, tuple[Callable[[object], object], bool]]:
    hints = typing.get_type_hints(kind)
    result = {}
    for field in dataclasses.fields(kind):
        is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        result[field.name] = (_decoder(hints[field.name]), is_required)
    return result


def _decoder(hint: Any) -> Callable[[object], object]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        inner = _decoder(next(argument for argument in arguments if argument is not types.NoneType))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        item = _decoder(arguments[0])
        return lambda value: tuple(item(part) for part in typing.cast("list[object]", _checked(list, value)))
    if dataclasses.is_dataclass(hint):
        return functools.partial(from_json, typing.cast("type[_Dataclass]", hint))
    if hint is datetime:
        return lambda value: _in_utc(datetime.fromisoformat(typing.cast(str, _checked(str, value))))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint
    if hint is float:
        return lambda value: float(typing.cast(float, _checked((int, float), value)))
    return functools.partial(_checked, origin or hint)


def _in_utc(moment: datetime) -> datetime:
    """Convert a time to UTC. A time without a zone is taken as UTC, as protobuf does, and not as local time."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _checked(kind: Any, value: object) -> object:
    if kind is Any or (isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)):
        return value
    wanted = kind.__name__ if isinstance(kind, type) else "number"
    raise TypeError(f"must be {wanted}, not {type(value).__name__}")
