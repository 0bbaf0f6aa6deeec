"""Turns the objects of the client's models into generated messages, as a server sends them."""

import dataclasses
import json
import re
from datetime import datetime
from typing import Any, TypeVar

from google.protobuf import descriptor, message

from tinkwell.client.value import message as json_message

M = TypeVar("M", bound=message.Message)


def fill(target: M, source: object) -> M:
    """Set every field of a message from the attribute of the same name."""
    for field in target.DESCRIPTOR.fields:
        value = getattr(source, field.name, None)
        if value is not None:
            _set(target, field, value)
    return target


def _set(target: message.Message, field: Any, value: Any) -> None:
    if isinstance(value, datetime):
        getattr(target, field.name).FromDatetime(value)
    elif field.message_type is not None and field.is_repeated:
        for part in value:
            fill(getattr(target, field.name).add(), part)
    elif field.message_type is not None and dataclasses.is_dataclass(value):
        fill(getattr(target, field.name), value)
        getattr(target, field.name).SetInParent()
    elif field.message_type is not None:
        violations = json_message.fill(getattr(target, field.name), value, field.name)
        assert not violations, violations
    elif field.is_repeated:
        getattr(target, field.name).extend(value)
    elif field.enum_type is not None:
        setattr(target, field.name, _enum_number(field.enum_type, value))
    elif field.cpp_type == descriptor.FieldDescriptor.CPPTYPE_STRING and isinstance(value, dict):
        setattr(target, field.name, json.dumps(value))
    else:
        setattr(target, field.name, value)


def _enum_number(enum: Any, value: str) -> int:
    prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enum.name).upper()
    number: int = enum.values_by_name[f"{prefix}_{value.upper()}"].number
    return number
