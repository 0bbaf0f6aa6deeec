"""Values as JSON and YAML, written piece by piece, so that a large result is refused before it is complete.

A value may contain the same value several times, through variables, and so be far larger than its parts.
"""

import re
from collections.abc import Iterator

from tinkwell.core.template import text as template_text
from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.function import argument
from tinkwell.core.template.gotemplate.function import format as gotemplate_format
from tinkwell.core.template.gotemplate.syntax import node

Value = node.Value

MAX_DEPTH = 64

_SPECIAL = re.compile(r'["\\\x00-\x1f\u2028\u2029]')
_SPECIAL_IN_HTML = re.compile(r'["\\\x00-\x1f\u2028\u2029<>&]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def json_text(name: str, item: Value, *, is_escaped: bool, is_pretty: bool = False) -> str:
    """Return a value as JSON with sorted keys; `is_escaped` as Go does it for pages, `is_pretty` on several lines."""
    special = _SPECIAL_IN_HTML if is_escaped else _SPECIAL
    return _gathered(name, _json(name, item, special, "\n" if is_pretty else "", 0))


def yaml_text(name: str, item: Value) -> str:
    """Return a value as YAML in blocks with sorted keys, without a line feed at the end."""
    lines = _yaml_lines(name, item, 0)
    if isinstance(item, str):
        lines = _yaml_entry("", item, lines)
    return _gathered(name, (f"{line}\n" for line in lines)).removeprefix(": ").removesuffix("\n")


def _gathered(name: str, parts: Iterator[str]) -> str:
    written: list[str] = []
    length = 0
    for part in parts:
        length += len(part)
        argument.check_length(name, length)
        written.append(part)
    return "".join(written)


def _check_depth(name: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadArgument(f"{name} is given a value that is nested deeper than {MAX_DEPTH} levels", is_value=True)


def _json(name: str, item: Value, special: re.Pattern[str], line: str, depth: int) -> Iterator[str]:
    _check_depth(name, depth)
    match item:
        case None:
            yield "null"
        case str():
            yield _json_string(item, special)
        case list() | dict() if not item:
            yield "[]" if isinstance(item, list) else "{}"
        case list():
            inner = f"{line}  " if line else ""
            for at, one in enumerate(item):
                yield f"{',' if at else '['}{inner}"
                yield from _json(name, one, special, inner, depth + 1)
            yield f"{line}]"
        case dict():
            inner = f"{line}  " if line else ""
            for at, key in enumerate(sorted(item)):
                yield f"{',' if at else '{'}{inner}{_json_string(key, special)}:{' ' if line else ''}"
                yield from _json(name, item[key], special, inner, depth + 1)
            yield f"{line}}}"
        case _:
            yield gotemplate_format.text_of(item)


def _json_string(text: str, special: re.Pattern[str]) -> str:
    return f'"{special.sub(lambda found: _json_escape(found[0]), text)}"'


def _json_escape(character: str) -> str:
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _yaml_lines(name: str, item: Value, depth: int) -> Iterator[str]:
    """Yield the lines of a value; the first may be put after a key or a dash."""
    _check_depth(name, depth)
    match item:
        case dict() if item:
            for key in sorted(item):
                yield from _yaml_entry(_yaml_key(key), item[key], _yaml_lines(name, item[key], depth + 1))
        case list() if item:
            for one in item:
                yield from _behind("- ", _yaml_lines(name, one, depth + 1))
        case str():
            yield from template_text.scalar(item, 0).split("\n")
        case _:
            yield from _json(name, item, _SPECIAL, "", depth)


def _yaml_entry(key: str, item: Value, lines: Iterator[str]) -> Iterator[str]:
    match item:
        case dict() if item:
            yield f"{key}:"
            for line in lines:
                yield f"  {line}" if line else ""
        case list() if item:
            # The dashes of a list start in the column of its key.
            yield f"{key}:"
            yield from lines
        case _:
            yield f"{key}: {next(lines)}"
            yield from _behind("  ", lines)


def _behind(first: str, lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield f"{first}{line}" if line else ""
        first = "  "


def _yaml_key(key: str) -> str:
    return _json_string(key, _SPECIAL) if "\n" in key else template_text.scalar(key, 0)
