"""Variables of manifests: files of variables and single ones; later ones win.

A file has any JSON values by name. Its texts may hold expressions, which see the variables before the file; so the
caller evaluates files one after another. A single variable is always text and never evaluated.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.release.manifest import name
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

MAX_BYTES = document.MAX_DOCUMENT_BYTES

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Layer:
    """Variables that were given together. Those of a file are merged into the earlier ones, others replace them."""

    values: JsonObject
    is_file: bool = True


def parse_variable(text: str) -> Layer:
    """Read the text of `--var NAME=VALUE`; raises `errors.InvalidField`.

    One pair of double quotes around the value is removed.
    """
    variable, equals, value = text.partition("=")
    if not equals:
        raise errors.InvalidField.of("var", f"{parse.show(text)} has no =; write it as NAME=VALUE")
    _parse_name("var", variable)
    if len(value) >= 2 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return Layer({variable: document.check_json("var", value)}, is_file=False)


def parse_file(field: str, value: JsonValue) -> Layer:
    """Read the value of a file of variables; raises `errors.InvalidField` with paths below `field`."""
    if not isinstance(value, dict):
        found = "is empty" if value is None else f"is {document.describe(value)}"
        raise errors.InvalidField.of(field, f"{found}; a file of variables must be an object, such as NAME: VALUE")
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    for variable in value:
        checks.take(_parse_name, parse.child(field, variable), variable)
    checks.finish()
    return Layer(value)


def fold(layers: Iterable[Layer], evaluate: Callable[[JsonObject, JsonObject], JsonObject] | None = None) -> JsonObject:
    """Merge all layers in order; `evaluate` gets a file's values, and the variables before the file.

    Raises `errors.InvalidField` if the result exceeds a limit.
    """
    variables: JsonObject = {}
    for layer in layers:
        if not layer.is_file:
            variables = {**variables, **layer.values}
        else:
            variables = merge(variables, evaluate(layer.values, variables) if evaluate else layer.values)
    document.check_json("variables", variables, max_bytes=MAX_BYTES)
    return variables


def merge(under: JsonObject, over: JsonObject) -> JsonObject:
    """Merge two objects into a new one: objects member by member; lists and other values of `over` replace."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _parse_name(field: str, text: str) -> str:
    if text in name.RESERVED:
        raise errors.InvalidField.of(field, f"{text} means something else in expressions; choose another name")
    if not _NAME.fullmatch(text) or len(text) > parse.MAX_NAME_BYTES:
        description = f"{parse.show(text)} is not the name of a variable; use letters, digits, _ and -, no digit first"
        raise errors.InvalidField.of(field, description)
    return text
