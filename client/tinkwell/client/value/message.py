"""Converts between protobuf messages and plain JSON objects; no key is dropped, and errors name the path of a value.

Tinkwell's JSON has the names of the fields and plain numbers. The reader also accepts the forms of protobuf's own JSON,
which Tinkerbell's files have: whole numbers as strings (`"86400"`), names such as `leaseTime`, and numbers such as
`8.64e4`, which programs write that keep all numbers as doubles.
"""

import difflib
import re
from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor, message

from tinkwell.core.errors import Violation

_TYPES: Mapping[int, tuple[type, str]] = {
    descriptor.FieldDescriptor.CPPTYPE_STRING: (str, "a string"),
    descriptor.FieldDescriptor.CPPTYPE_BOOL: (bool, "true or false"),
    descriptor.FieldDescriptor.CPPTYPE_INT64: (int, "a whole number"),
}

_WHOLE = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def to_json(source: message.Message) -> dict[str, Any]:
    """Return the JSON object of a message; fields with their default value are left out."""
    return {field.name: _plain(value, is_repeated=field.is_repeated) for field, value in source.ListFields()}


def fill(target: message.Message, data: object, path: str) -> list[Violation]:
    """Write a JSON object into a message; returns each mistake in it with its path, which begins with `path`."""
    if not isinstance(data, Mapping):
        return [Violation(path, f"must be an object, not {_name(data)}")]
    violations = []
    for key, value in data.items():
        field = target.DESCRIPTOR.fields_by_name.get(key) if isinstance(key, str) else None
        where = f"{path}.{key}" if path else str(key)
        other = _by_other_name(target, key) if field is None else None
        if other is not None and other.name in data:
            violations.append(
                Violation(where, f"means the same as {other.name}, which is given, too; leave one of them out")
            )
        elif field is None and other is None:
            violations.append(unknown_key(where, key, target.DESCRIPTOR.fields_by_name.keys()))
        elif value is not None:
            violations.extend(_set(target, field or other, value, where))
    return violations


def unknown_key(path: str, key: object, known: Any) -> Violation:
    """Build the error for an unknown key, with a suggestion if a known key is similar."""
    close = difflib.get_close_matches(str(key), list(known), n=1)
    hint = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(sorted(known))}"
    return Violation(path, f"unknown key; {hint}")


def _by_other_name(target: message.Message, key: object) -> Any:
    """Return the field that has this name in protobuf's JSON; None if there is none."""
    return target.DESCRIPTOR.fields_by_camelcase_name.get(key) if isinstance(key, str) else None


def _plain(value: Any, *, is_repeated: bool) -> Any:
    if is_repeated:
        return [_plain(item, is_repeated=False) for item in value]
    return to_json(value) if isinstance(value, message.Message) else value


def _set(target: message.Message, field: Any, value: object, path: str) -> list[Violation]:
    is_message = field.message_type is not None
    if field.is_repeated:
        return _extend(getattr(target, field.name), value, path, is_message=is_message, field=field)
    if is_message:
        child = getattr(target, field.name)
        child.SetInParent()
        return fill(child, value, path)
    return _assign(field, value, path, lambda checked: setattr(target, field.name, checked))


def _extend(
    container: Any, value: object, path: str, *, is_message: bool, field: descriptor.FieldDescriptor
) -> list[Violation]:
    if not isinstance(value, list | tuple):
        return [Violation(path, f"must be a list, not {_name(value)}")]
    violations = []
    for index, item in enumerate(value):
        where = f"{path}[{index}]"
        violations += (
            fill(container.add(), item, where) if is_message else _assign(field, item, where, container.append)
        )
    return violations


def _assign(field: descriptor.FieldDescriptor, value: object, path: str, write: Any) -> list[Violation]:
    kind, wanted = _TYPES[field.cpp_type]
    if kind is int and type(value) is not int:
        value = _whole(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return [Violation(path, f"must be {wanted}, not {_name(value)}")]
    try:
        write(value)
    except ValueError as error:  # a number beyond 64 bits, or text that is not Unicode
        return [Violation(path, str(error))]
    return []


def _whole(value: object) -> object:
    """Return the whole number that a value stands for in protobuf's JSON; any other value is returned as it is."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case str() if _WHOLE.fullmatch(value):
            return int(value)
        case _:
            return value


def _name(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
