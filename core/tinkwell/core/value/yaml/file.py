"""Reads the documents of a YAML file as JSON values, and adds line and column to each error."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ruamel.yaml.nodes import Node

from tinkwell.core import errors
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import JsonValue
from tinkwell.core.value.yaml import node as yaml_node
from tinkwell.core.value.yaml import position

MAX_FILE_BYTES = document.MAX_DOCUMENT_BYTES
MAX_ALIASES = 100
MAX_EXPANSION = 10
# The size of a document with copied aliases.
MAX_VALUE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a file, which errors name by `field`; `node` knows the place of each part of `value`."""

    field: str
    node: Node
    value: JsonValue

    def located(self, error: errors.InvalidField) -> errors.InvalidField:
        """Return the error with the place of each violation; the violations' paths are within the document."""
        places = [self.locate(violation.field) for violation in error.violations]
        return errors.InvalidField(
            _violation(self.field, place, violation.field, violation.description)
            for place, violation in zip(places, error.violations, strict=True)
        )

    def locate(self, path: str) -> position.Position:
        """Return the place of a part of the document."""
        return yaml_node.locate(self.node, position.parse_path(path))


def explain(error: position.Malformed, _: str) -> str:
    """Return what is wrong if a text is not YAML."""
    return error.description


def documents(
    checks: check.Checks,
    field: str,
    text: str,
    *,
    explain: Callable[[position.Malformed, str], str] = explain,
    max_value_bytes: int = MAX_VALUE_BYTES,
) -> Iterator[Document]:
    """Yield the documents of a file. Raises `errors.InvalidField` if it is not YAML, or too large.

    A document with a value that JSON cannot hold is noted in the checks, and returned as an empty object.
    """
    parse.parse_text(field, text, max_bytes=MAX_FILE_BYTES, allow_empty=True, multiline=True)
    try:
        for node in yaml_node.documents(text):
            yield Document(field, node, _value(checks, field, node, text, max_value_bytes))
    except position.Malformed as error:
        raise errors.InvalidField([_violation(field, error.position, "", explain(error, text))]) from error


def _value(checks: check.Checks, field: str, node: Node, text: str, max_bytes: int) -> JsonValue:
    """Return the value of a document; raises `position.Malformed`, and notes values that cannot be stored."""
    written = yaml_node.count(node)
    if written.aliases > MAX_ALIASES:
        description = f"has {written.aliases:,} aliases; at most {MAX_ALIASES} are allowed"
        raise position.Malformed(yaml_node.locate(node, ()), description)
    value = yaml_node.value_of(node, max_values=MAX_EXPANSION * written.nodes, max_characters=MAX_EXPANSION * len(text))
    try:
        return document.check_json("", value, max_bytes=max_bytes)
    except errors.InvalidField as error:
        checks.note(Document(field, node, value).located(error))
        return {}


def _violation(field: str, place: position.Position, path: str, description: str) -> errors.Violation:
    if path:
        field = f"{field}{path}" if path.startswith("[") else f"{field}.{path}"
    return errors.Violation(field, f"line {place.line}, column {place.column}: {description}")
