"""Reads the changes of a handler from the JSON texts that the child returns.

The interpreter has integers of 64 bits, and doubles for all other numbers. A number that the handler has not moved, and
that has the same value to the interpreter, keeps its written form: 1.10 stays 1.10.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event import name as event_names
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

MAX_BYTES = 8 * 1024 * 1024
_IN_CONTEXT = ("state", "templates", "config")


def allowed(event: Event) -> tuple[str, ...]:
    """Return the names of the documents that handlers of an event may change, besides their state."""
    if event in event_names.CHANGES_SOURCES:
        return ("values", "templates")
    return ("manifest",) if event in event_names.CHANGES_MANIFEST else ()


def field(part: str) -> str:
    """Return the name of a document in scripts."""
    return f"context.{part}" if part in _IN_CONTEXT else part


def documents(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, JsonValue]]:
    """Iterate over the changed documents by name; raises `errors.InvalidField` for one that cannot be stored."""
    for part, text in after.items():
        written = before.get(part, "null")
        was = document.parse_json(field(part), written, max_bytes=len(written.encode()))
        found = kept(was, document.parse_json(field(part), text, max_bytes=MAX_BYTES))
        if part not in before or not document.is_same(was, found):
            yield part, found


def kept(before: JsonValue, after: JsonValue) -> JsonValue:
    """Return `after`, with the numbers of `before` that are equal to the interpreter in their earlier form."""
    match before, after:
        case dict(), dict():
            return {key: kept(before[key], value) if key in before else value for key, value in after.items()}
        case list(), list():
            same = [kept(was, value) for was, value in zip(before, after, strict=False)]
            return [*same, *after[len(same) :]]
        case bool(), _:
            return after
        case _:
            return before if _is_same_number(before, after) else after


def differing(path: str, before: JsonValue, after: JsonValue) -> str:
    """Return the path of the innermost value that has all differences, such as `values.web.port`."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return path
    every = dict.fromkeys((*before, *after))
    changed = [
        key for key in every if key not in before or key not in after or not document.is_same(before[key], after[key])
    ]
    if len(changed) != 1:
        return path
    (key,) = changed
    return differing(parse.child(path, key), before.get(key), after.get(key))


def read_optional(part: str, found: Mapping[str, JsonValue]) -> JsonObject | None:
    """Return the object with this name, or None; raises `errors.InvalidField`."""
    return read_object(part, found[part]) if part in found else None


def read_object(path: str, value: JsonValue) -> JsonObject:
    """Return the value; raises `errors.InvalidField` if it is no object."""
    if not isinstance(value, dict):
        raise errors.InvalidField.of(path, f"must be an object, and not {document.describe(value)}")
    return value


def read_templates(found: Mapping[str, JsonValue]) -> dict[str, str] | None:
    """Return the templates by name, if they have changed; raises `errors.InvalidField`."""
    if "templates" not in found:
        return None
    templates = read_object("context.templates", found["templates"])
    for name, text in templates.items():
        if not isinstance(text, str):
            raise errors.InvalidField.of(
                f"context.templates.{name}", f"must be a text, and not {document.describe(text)}; nil removes it"
            )
    return cast("dict[str, str]", templates)


def _is_same_number(before: JsonValue, after: JsonValue) -> bool:
    if isinstance(before, str | list | dict | bool | None) or isinstance(after, str | list | dict | bool | None):
        return False
    return before == after or float(before) == float(after)
