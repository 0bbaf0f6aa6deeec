"""Splits texts with several JSON values, such as JSON lines, and finds the places of values in them."""

import json
import re
from collections.abc import Iterator

from tinkwell.core.value.yaml import position

_SPACE = re.compile(r"[ \t\r\n]*")
# Only places matter here. Numbers stay texts, because Python refuses to read numbers with thousands of digits.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


def split(text: str) -> Iterator[tuple[int, int]]:
    """Iterate over the beginning and the end of each value of a text. Raises `Malformed` at a place without a value."""
    at = _skip(text, 0)
    while at < len(text):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            reason = error.msg.removesuffix(" at")
            raise position.Malformed(position.Position(error.lineno, error.colno), f"not JSON: {reason}") from error
        except RecursionError as error:
            raise position.Malformed(position.of_offset(text, at), "is nested too deeply") from error
        yield at, end
        at = _skip(text, end)


def locate(text: str, offset: int, path: position.Path) -> position.Position:
    """Find a part of the value at an offset: an item, or the key of a member; if missing, the nearest one above it."""
    value_at = key_at = offset
    for part in path:
        members = dict(_members(text, value_at))
        if part not in members:
            break
        key_at, value_at = members[part]
    return position.of_offset(text, key_at)


def _members(text: str, at: int) -> Iterator[tuple[str | int, tuple[int, int]]]:
    """Iterate over members of an object or items of a list: the name, and where the part and its value begin."""
    opening, at = text[at], _skip(text, at + 1)
    index = 0
    while opening in "{[" and text[at] not in "}]":
        begin, name = at, index
        if opening == "{":
            name, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        yield name, (begin, at)
        _, end = _DECODER.raw_decode(text, at)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None  # the pattern also matches an empty text
    return found.end()
