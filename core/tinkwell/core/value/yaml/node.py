"""YAML as JSON values with their positions.

The meaning of values follows YAML 1.2 and JSON: dates stay text, keys are text, numbers are exact. An alias stands for
a copy of its anchor, so a few lines can unfold to billions of values; their number, depth and length are limited.
"""

import decimal
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import error as yaml_error
from ruamel.yaml import reader
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkwell.core.value import document, parse
from tinkwell.core.value.document import MAX_DEPTH, JsonValue
from tinkwell.core.value.yaml import position
from tinkwell.core.value.yaml import scanner as yaml_scanner

MAX_VALUES = 1_000_000
MAX_CHARACTERS = 64 * 1024 * 1024

_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?(?:0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+)", re.ASCII)


def documents(text: str) -> Iterator[Node]:
    """Yield the documents of a text; raises `Malformed`."""
    yaml = yaml_scanner.yaml()
    yaml.composer.warn_double_anchors = False
    try:
        for node in yaml.compose_all(text):
            if node is not None:
                yield node
    except yaml_error.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise position.Malformed(_position(mark), f"not YAML: {_reason(error)}") from error
    except reader.ReaderError as error:
        description = f"the character U+{error.character:04X} is not allowed in YAML"
        raise position.Malformed(position.of_offset(text, error.position), description) from error
    except RecursionError as error:
        raise position.Malformed(position.Position(1, 1), "is nested too deeply") from error
    except (AssertionError, ValueError, OverflowError) as error:
        # ruamel.yaml raises it without a place for an invalid %YAML line and for an escape beyond Unicode.
        raise position.Malformed(position.Position(1, 1), f"not YAML: {error}") from error


@dataclass(frozen=True, slots=True)
class Written:
    """The number of written nodes, and the number of aliases."""

    nodes: int
    aliases: int


def count(node: Node) -> Written:
    """Count the written nodes of a node, itself included."""
    nodes, aliases = 0, 0
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            aliases += 1
            continue
        seen.add(id(found))
        nodes += 1
        match found:
            case MappingNode():
                waiting.extend(part for pair in found.value for part in pair)
            case SequenceNode():
                waiting.extend(found.value)
    return Written(nodes, aliases)


def value_of(node: Node, *, max_values: int | None = None, max_characters: int | None = None) -> JsonValue:
    """Return the JSON value of a node; raises `Malformed` for values that JSON cannot hold, and above the limits."""
    return _Builder(max_values or MAX_VALUES, max_characters or MAX_CHARACTERS).build(node, 1)


def locate(node: Node, path: position.Path) -> position.Position:
    """Return the place of a part: an item, or the key of a member; if it is missing, the last part on the path."""
    place = node
    for part in path:
        match node:
            case MappingNode() if (found := _member(node, part)) is not None:
                place, node = found
            case SequenceNode() if isinstance(part, int) and part < len(node.value):
                place = node = node.value[part]
            case _:
                break
    return _position(place.start_mark)


def _member(node: MappingNode, part: str | int) -> tuple[Node, Node] | None:
    return next(((key, value) for key, value in node.value if key.value == str(part)), None)


class _Builder:
    def __init__(self, max_values: int, max_characters: int) -> None:
        self._max_values = max_values
        self._max_characters = max_characters
        self._values = 0
        self._characters = 0
        self._merged = 0

    def build(self, node: Node, depth: int) -> JsonValue:
        self._values += 1
        if self._values > self._max_values:
            raise _malformed(node, f"unfolds to more than {self._max_values:,} values")
        if depth > MAX_DEPTH:
            raise _malformed(node, f"is nested deeper than {MAX_DEPTH} levels")
        match node:
            case ScalarNode():
                self._count(node, len(node.value))
                return _scalar(node)
            case SequenceNode():
                return [self.build(item, depth + 1) for item in node.value]
            case MappingNode():
                pairs = self._pairs(node)
                self._count(node, sum(map(len, pairs)))
                return {key: self.build(value, depth + 1) for key, value in pairs.items()}
            case _:
                raise _malformed(node, "is neither a value, a list nor a mapping")

    def _pairs(self, node: MappingNode, depth: int = 1) -> dict[str, Node]:
        """Return the members of a mapping; merged ones (`<<`) come first, and its own members replace them."""
        if depth > MAX_DEPTH:
            raise _malformed(node, f"merges deeper than {MAX_DEPTH} levels")
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in node.value:
            if key.tag == f"{_TAG}merge":
                for source in value.value if isinstance(value, SequenceNode) else [value]:
                    if not isinstance(source, MappingNode):
                        raise _malformed(key, "only mappings can be merged")
                    merged = self._merge(source, depth) | merged
            elif not isinstance(key, ScalarNode):
                raise _malformed(key, "a key must be text")
            elif key.value in own:
                raise _malformed(key, f"the key {key.value} occurs twice")
            else:
                own[key.value] = value
        return merged | own

    def _merge(self, source: MappingNode, depth: int) -> dict[str, Node]:
        # A chain of mappings that each merge the one before twice would double the work in each line.
        self._merged += 1 + len(source.value)
        if self._merged > self._max_values:
            raise _malformed(source, f"merges more than {self._max_values:,} values")
        return self._pairs(source, depth + 1)

    def _count(self, node: Node, characters: int) -> None:
        self._characters += characters
        if self._characters > self._max_characters:
            raise _malformed(node, f"unfolds to more than {self._max_characters:,} characters")


def _scalar(node: ScalarNode) -> JsonValue:
    tag = str(node.tag)
    read = _READERS.get(tag.removeprefix(_TAG))
    if read is None:
        raise _malformed(node, f"the tag {tag.replace(_TAG, '!!')} has no form in JSON")
    return read(node)


def _integer(node: ScalarNode) -> JsonValue:
    text = node.value.replace("_", "")
    _check_length(node, text)
    if not _INTEGER.fullmatch(text):
        raise _malformed(node, f"{parse.excerpt(node.value)} is not a whole number; quote it if it is text")
    return int(text, 0) if "o" in text or "x" in text else int(text)


def _float(node: ScalarNode) -> JsonValue:
    try:
        number = decimal.Decimal(node.value)
    except decimal.InvalidOperation:
        number = decimal.Decimal("NaN")
    _check_length(node, node.value)
    if not number.is_finite():
        raise _malformed(node, f"{parse.excerpt(node.value)} is not a number of JSON; quote it if it is text")
    return number


def _check_length(node: ScalarNode, number: str) -> None:
    if document.is_too_long(number):
        allowed = f"at most {document.MAX_NUMBER_CHARACTERS} are allowed"
        raise _malformed(node, f"a number has {len(number):,} characters; {allowed}; quote it if it is text")


_READERS: dict[str, Callable[[ScalarNode], JsonValue]] = {
    "str": lambda node: str(node.value),
    "null": lambda node: None,
    "bool": lambda node: node.value.lower() == "true",
    "int": _integer,
    "float": _float,
    "timestamp": lambda node: str(node.value),
    "value": lambda node: str(node.value),
}


def _malformed(node: Node, description: str) -> position.Malformed:
    return position.Malformed(_position(node.start_mark), description)


def _position(mark: Any) -> position.Position:
    return position.Position(mark.line + 1, mark.column + 1) if mark else position.Position(1, 1)


def _reason(error: yaml_error.MarkedYAMLError) -> str:
    text = ", ".join(part for part in (error.context, error.problem) if part)
    return " ".join(text.split())
