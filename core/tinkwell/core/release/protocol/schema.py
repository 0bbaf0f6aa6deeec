"""JSON Schemas and regular expressions of untrusted authors, checked by jsonschema-rs.

Only this module imports jsonschema-rs. Regular expressions are matched in linear time, references never leave a schema,
and no message shows a value. One danger remains: a small schema can refer to itself so often that a check takes too
much time or memory. So a schema from an image is checked in a process with limits.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

import jsonschema_rs

from tinkwell.core import errors
from tinkwell.core.value import parse
from tinkwell.core.value.document import MAX_VIOLATIONS, JsonObject, JsonValue

MAX_MESSAGE_CHARACTERS = 300
# The memory of a compiled regular expression, in bytes.
MAX_PATTERN_SIZE = 256 * 1024

_SHOWN_VALUE = "the value"
_LINEAR = jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_SIZE, dfa_size_limit=MAX_PATTERN_SIZE)


class WrongSchema(Exception):
    """The value is not a JSON Schema; the text says where and why."""


class Draft(StrEnum):
    """The draft for a schema that names none."""

    FOUR = "4"
    SEVEN = "7"


_BUILD: Mapping[Draft, Any] = {
    Draft.FOUR: jsonschema_rs.Draft4Validator,
    Draft.SEVEN: jsonschema_rs.Draft7Validator,
}


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema, of the draft that its `$schema` names, or of another one."""

    _validator: jsonschema_rs.Validator

    @classmethod
    def compile(cls, schema: JsonObject, *, draft: Draft = Draft.FOUR) -> "Schema":
        """Compile a schema; `draft` counts if the schema names none. Raises `WrongSchema`."""
        build = jsonschema_rs.validator_for if "$schema" in schema else _BUILD[draft]
        try:
            validator = build(
                schema, validate_formats=False, retriever=_deny, mask=_SHOWN_VALUE, pattern_options=_LINEAR
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise WrongSchema(_explain(error)) from error
        return cls(validator)

    def check(self, path: str, value: JsonValue) -> None:
        """Raise `errors.InvalidField` with the paths of values that do not match, such as `web.config.a.b[0]`."""
        if not self._validator.is_valid(value):
            found = itertools.islice(self._validator.iter_errors(value), MAX_VIOLATIONS)
            raise errors.InvalidField(
                errors.Violation(_path(path, error.instance_path), _shorten(error.message)) for error in found
            )

    def write_only(self, value: JsonValue) -> tuple[str, ...]:
        """Return the JSON pointers of the parts of a matching value that are marked as `writeOnly`, in order."""
        found = self._validator.evaluate(value).annotations()
        return tuple(sorted({each["instanceLocation"] for each in found if _is_write_only(each["annotations"])}))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that must match at the beginning of a text."""

    _validator: jsonschema_rs.Validator

    @classmethod
    def compile(cls, path: str, text: str) -> "Pattern":
        """Compile a regular expression in the syntax of ECMAScript; raises `errors.InvalidField`."""
        try:
            # First by itself, so that its brackets cannot close the brackets that are put around it.
            _compile_pattern(text)
            return cls(_compile_pattern(f"^(?:{text})"))
        except ValueError as error:
            description = (
                f"{parse.show(text)} is not a regular expression that can be matched in linear time; "
                "leave out back references and look-arounds, and use the syntax of ECMAScript"
            )
            raise errors.InvalidField.of(path, description) from error

    def matches(self, text: str) -> bool:
        """Return whether a text begins with a match."""
        return self._validator.is_valid(text)


@functools.lru_cache(maxsize=256)
def _compile_pattern(text: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.Draft4Validator({"pattern": text}, pattern_options=_LINEAR)


def _is_write_only(annotations: object) -> bool:
    return isinstance(annotations, Mapping) and annotations.get("writeOnly") is True


def _deny(uri: str) -> NoReturn:
    raise ValueError("references may only lead to places within the schema")


def _explain(error: Exception) -> str:
    if not isinstance(error, jsonschema_rs.ValidationError):
        return _shorten(str(error))
    where = _path("", error.instance_path)
    return f"at {where}: {_shorten(error.message)}" if where else _shorten(error.message)


def _path(path: str, parts: Sequence[str | int]) -> str:
    for part in parts:
        path = parse.child(path, part)
    return path


def _shorten(message: str) -> str:
    line = " ".join(message.split())
    return f"{line[:MAX_MESSAGE_CHARACTERS]}…" if len(line) > MAX_MESSAGE_CHARACTERS else line
