"""Strict JSON: each accepted text can be stored in PostgreSQL's jsonb and keeps its meaning.

Integers are `int`; every other number is a `decimal.Decimal`, which keeps the digits as they were written (`1.10` stays
`1.10`) where a double would round them. `dump_json` writes both exactly; `json.dumps` refuses a Decimal. Errors name
the line and column if the text is not JSON, and the path of the value if its JSON is refused.
"""

import collections
import decimal
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.value import parse

JsonValue: TypeAlias = "bool | int | decimal.Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

MAX_DOCUMENT_BYTES = 1024 * 1024
MAX_DEPTH = 64
MAX_NUMBER_CHARACTERS = 64
# The database writes out all zeros of 1e308 and 5e-324, and its output must be accepted again.
MAX_WRITTEN_CHARACTERS = 400
MAX_VIOLATIONS = 20

_TOO_DEEP = "is nested deeper than {} levels"
_BEYOND = "the number {} is beyond what a double can hold, which is 1.797e308 at most"

# The string part is possessive, so that a text full of quotes takes one pass and not one for each quote.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_HARMFUL = re.compile("[\x00\ud800-\udfff]")
_DIGIT_BUT_ZERO = re.compile("[1-9]")


def parse_json(field: str, text: str | bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> JsonValue:
    """Parse a JSON text that jsonb and every JSON reader understand alike.

    Refused are: more than `max_bytes`, what is not UTF-8, NUL characters and lone surrogates, a key that occurs twice
    in an object, NaN and infinities, numbers of more than 64 characters, zeros at the ends aside, or beyond a double,
    nesting deeper than 64.
    """
    source = _decode(field, text, max_bytes)
    _check_depth(field, source)
    builder = _Builder()
    try:
        parsed = builder.build(source)
    except json.JSONDecodeError as exc:
        reason = exc.msg.removesuffix(" at")
        raise errors.InvalidField.of(field, f"line {exc.lineno}, column {exc.colno}: {reason} (not JSON)") from exc
    if builder.refused or _SUSPECT_ESCAPE.search(source):
        violations = tuple(itertools.islice(_find_refused(field, parsed), MAX_VIOLATIONS))
        if violations:
            raise errors.InvalidField(violations)
    return parsed


def parse_json_object(field: str, text: str | bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> JsonObject:
    """Parse a JSON text as `parse_json` does, and refuse anything but an object."""
    parsed = parse_json(field, text, max_bytes=max_bytes)
    if not isinstance(parsed, dict):
        raise errors.InvalidField.of(field, f"must be a JSON object, such as {{}}, and not {describe(parsed)}")
    return parsed


def check_json(
    field: str, value: object, *, max_bytes: int = MAX_DOCUMENT_BYTES, max_depth: int = MAX_DEPTH
) -> JsonValue:
    """Return a value that was built elsewhere as `parse_json` returns it, with the same checks.

    `max_depth` is smaller for a value that becomes part of another document.
    """
    try:
        violations = tuple(itertools.islice(_find_refused(field, value), MAX_VIOLATIONS))
        source = dump_json(value)
    except RecursionError as exc:
        raise errors.InvalidField.of(field, _TOO_DEEP.format(max_depth)) from exc
    except (TypeError, ValueError) as exc:
        raise errors.InvalidField.of(field, str(exc)) from exc
    if violations:
        raise errors.InvalidField(violations)
    parse.check_size(field, source, max_bytes=max_bytes)
    if _find_depth(source, max_depth) is not None:
        raise errors.InvalidField.of(field, _TOO_DEEP.format(max_depth))
    return parse_json(field, source, max_bytes=max_bytes)


def dump_json(document: object) -> str:
    """Write a value as compact JSON: exact numbers, non-ASCII characters as they are.

    Takes what `parse_json` returns, and also tuples, other mappings and finite floats. Raises TypeError or ValueError
    for what JSON cannot hold, since that is a mistake of the program and not of its user.
    """
    parts: list[str] = []
    _write(document, parts)
    return "".join(parts)


def is_too_long(number: str) -> bool:
    """Return whether the text of a number is too long; zeros at its ends do not count, up to a limit."""
    if len(number) <= MAX_NUMBER_CHARACTERS:
        return False
    digits = number.lstrip("-").replace(".", "", 1)
    return len(number) > MAX_WRITTEN_CHARACTERS or len(digits.strip("0")) > MAX_NUMBER_CHARACTERS


def is_same(first: JsonValue, second: JsonValue) -> bool:
    """Return whether two values have the same meaning, whatever the order of keys and the spelling of numbers."""
    match first, second:
        case dict(), dict():
            return first.keys() == second.keys() and all(is_same(value, second[key]) for key, value in first.items())
        case list(), list():
            return len(first) == len(second) and all(map(is_same, first, second))
        case _:
            # In Python True equals 1.
            return isinstance(first, bool) is isinstance(second, bool) and first == second


def describe(document: object) -> str:
    """Return the JSON type of a value for a message, with its article."""
    match document:
        case None:
            return "null"
        case bool():
            return "true" if document else "false"
        case int() | float() | decimal.Decimal():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "a list"


def _decode(field: str, text: str | bytes, max_bytes: int) -> str:
    try:
        encoded = text if isinstance(text, bytes) else text.encode()
        source = encoded.decode()
    except UnicodeDecodeError as exc:
        raise errors.InvalidField.of(field, f"must be UTF-8; the byte at place {exc.start} is not") from exc
    except UnicodeEncodeError as exc:
        raise errors.InvalidField.of(field, f"{_place(exc.object, exc.start)}: a lone surrogate is not UTF-8") from exc
    if len(encoded) > max_bytes:
        raise errors.InvalidField.of(field, f"has {len(encoded):,} bytes; at most {max_bytes:,} are allowed")
    if source.startswith("\ufeff"):
        raise errors.InvalidField.of(field, "begins with a byte order mark; leave it out")
    if not source.strip():
        raise errors.InvalidField.of(field, "is empty; JSON is needed")
    return source


def _check_depth(field: str, source: str) -> None:
    """Refuse deep nesting before the recursive parser reads the text."""
    if (offset := _find_depth(source, MAX_DEPTH)) is not None:
        raise errors.InvalidField.of(field, f"{_place(source, offset)}: {_TOO_DEEP.format(MAX_DEPTH)}")


def _find_depth(source: str, max_depth: int) -> int | None:
    """Return the offset at which a JSON text is nested too deeply, None if it is not."""
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(source):
        match found[0]:
            case "[" | "{":
                depth += 1
                if depth > max_depth:
                    return found.start()
            case "]" | "}":
                depth -= 1
    return None


def _place(source: str, offset: int) -> str:
    line_start = source.rfind("\n", 0, offset) + 1
    return f"line {source.count(chr(10), 0, offset) + 1}, column {offset - line_start + 1}"


@dataclass(frozen=True, slots=True)
class _Refused:
    """Stands in the tree for a value that is refused, until its path is known."""

    description: str


class _Builder:
    """Builds the tree through the standard parser's hooks, which know the text of a number but not its path."""

    def __init__(self) -> None:
        self.refused = False
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._int,
            parse_float=self._decimal,
            parse_constant=self._constant,
        )

    def build(self, source: str) -> JsonValue:
        parsed: JsonValue = self._decoder.decode(source)
        return parsed

    def _refuse(self, description: str) -> _Refused:
        self.refused = True
        return _Refused(description)

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object] | _Refused:
        built = dict(pairs)
        if len(built) == len(pairs):
            return built
        [(repeated, _)] = collections.Counter(key for key, _ in pairs).most_common(1)
        return self._refuse(f"the key {parse.show(repeated)} occurs twice")

    def _int(self, text: str) -> int | _Refused:
        if is_too_long(text):
            return self._too_long(text)
        if len(text) > MAX_NUMBER_CHARACTERS and math.isinf(float(text)):
            return self._refuse(_BEYOND.format(f"{text[:10]}…"))
        return int(text)

    def _decimal(self, text: str) -> decimal.Decimal | _Refused:
        if is_too_long(text):
            return self._too_long(text)
        double = float(text)
        if math.isinf(double):
            return self._refuse(_BEYOND.format(text))
        if not double and (problem := _find_mistake_of_zero(text)):
            return self._refuse(problem)
        return decimal.Decimal(text)

    def _too_long(self, text: str) -> _Refused:
        return self._refuse(f"a number has {len(text):,} characters; at most {MAX_NUMBER_CHARACTERS} are allowed")

    def _constant(self, text: str) -> _Refused:
        return self._refuse(f"{text} is not a JSON number")


def _find_refused(field: str, node: object) -> Iterator[errors.Violation]:
    match node:
        case _Refused():
            yield errors.Violation(field, node.description)
        case str():
            yield from _find_harmful(field, "the text", node)
        case dict():
            for key, item in node.items():
                yield from _find_harmful(field, "a key", key)
                yield from _find_refused(parse.child(field, key), item)
        case list():
            for index, item in enumerate(node):
                yield from _find_refused(parse.child(field, index), item)


def _find_harmful(field: str, what: str, text: str) -> Iterator[errors.Violation]:
    if found := _HARMFUL.search(text):
        kind = "the NUL character" if found[0] == "\0" else "a lone surrogate"
        yield errors.Violation(field, f"{what} {parse.show(text)} holds {kind}, which cannot be stored")


def _find_mistake_of_zero(text: str) -> str:
    """Return why a number that a double rounds to zero is refused; "" if it is not."""
    mantissa, _, exponent = text.lower().partition("e")
    if _DIGIT_BUT_ZERO.search(mantissa):
        return f"the number {text} is beyond what a double can hold, which is 5e-324 at least"
    if abs(int(exponent or 0)) > MAX_WRITTEN_CHARACTERS:
        return f"the number {text} is zero; leave its exponent out"
    return ""


def _write(node: object, parts: list[str]) -> None:
    match node:
        case str():
            parts.append(json.dumps(node, ensure_ascii=False))
        case None | bool():
            parts.append("null" if node is None else "true" if node else "false")
        case int() | float() | decimal.Decimal():
            parts.append(_number_text(node))
        case Mapping():
            _write_object(node, parts)
        case Sequence():
            _write_list(node, parts)
        case _:
            raise TypeError(f"{type(node).__name__} has no form in JSON")


def _number_text(number: int | float | decimal.Decimal) -> str:
    if isinstance(number, int):
        return int.__repr__(number)
    if not decimal.Decimal(number).is_finite():
        raise ValueError(f"{number} has no form in JSON")
    return str(number) if isinstance(number, decimal.Decimal) else float.__repr__(number)


def _write_object(node: Mapping[object, object], parts: list[str]) -> None:
    separator = "{"
    for key, item in node.items():
        if not isinstance(key, str):
            raise TypeError(f"the key {key!r} is not a string")
        parts.append(f"{separator}{json.dumps(key, ensure_ascii=False)}:")
        _write(item, parts)
        separator = ","
    parts.append("{}" if separator == "{" else "}")


def _write_list(node: Sequence[object], parts: list[str]) -> None:
    separator = "["
    for item in node:
        parts.append(separator)
        _write(item, parts)
        separator = ","
    parts.append("[]" if separator == "[" else "]")
