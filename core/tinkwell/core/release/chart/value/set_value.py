"""Values that users give in one argument, such as `web.replicas=3,web.hosts[0]=a`, in the grammar of Helm's `--set`.

A path has keys joined by dots, and indices in brackets; a backslash escapes a character. The text after the `=` is read
according to the mode. No function changes its arguments.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, TypeAlias

from tinkwell.core import errors
from tinkwell.core.release.manifest import variables
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

MAX_INDEX = 65_536
MAX_LEVELS = 30

Path: TypeAlias = "tuple[str | int, ...]"
ReadFile: TypeAlias = Callable[[str], str]

# A text with a leading 0 is more likely a code than a number.
_WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}|[-+][0-9]{1,19}", re.ASCII)
_INT64 = range(-(2**63), 2**63)
_INDEX = re.compile(r"\s*[-+]?[0-9]+\s*", re.ASCII)
_WORDS: dict[str, JsonValue] = {"true": True, "false": False, "null": None}


class Mode(StrEnum):
    """How the text after the `=` is read; the values are the names of the options, and the fields of errors."""

    TYPED = "set"
    STRING = "set-string"
    JSON = "set-json"
    LITERAL = "set-literal"
    FILE = "set-file"


@dataclass(frozen=True, slots=True)
class Assignment:
    """A place and its new value; an empty path means all values, into which an object is merged.

    If `makes_list` is true there is no value: the last index of the path only makes its parent a list.
    """

    path: Path
    value: JsonValue
    makes_list: bool = False


def parse_set(text: str, *, mode: Mode = Mode.TYPED, read_file: ReadFile | None = None) -> tuple[Assignment, ...]:
    """Read what an argument sets, in its order; raises `errors.InvalidField`.

    TYPED takes true, false, null, whole numbers and texts, STRING texts alone, both also `{a,b}` for a list; JSON takes
    JSON, or one object without a path; LITERAL takes all that follows the first `=` as text.
    """
    return tuple(_Reader(text, mode, read_file).assignments())


def assign(values: JsonObject, assignment: Assignment, *, field: str) -> JsonObject:
    """Return the values with one assignment applied; raises `errors.InvalidField` if another type is in the way."""
    if not assignment.path:
        return variables.merge(values, _object(assignment.value, (), field))
    return _put_member(values, assignment, 0, field)


def write_path(path: Path) -> str:
    """Return a path as text for a message."""
    written = ""
    for part in path:
        written = parse.child(written, part)
    return written


def _put(below: JsonValue, assignment: Assignment, at: int, field: str) -> JsonValue:
    """Return a value after the assignment at the path from index `at` on."""
    if at == len(assignment.path):
        return assignment.value
    if isinstance(assignment.path[at], str):
        return _put_member(_object(below, assignment.path[:at], field), assignment, at, field)
    return _put_item(_list(below, assignment.path[:at], field), assignment, at, field)


def _put_member(members: JsonObject, assignment: Assignment, at: int, field: str) -> JsonObject:
    key = str(assignment.path[at])
    return {**members, key: _put(members.get(key), assignment, at + 1, field)}


def _put_item(items: list[JsonValue], assignment: Assignment, at: int, field: str) -> list[JsonValue]:
    if assignment.makes_list and at == len(assignment.path) - 1:
        return items
    index = int(assignment.path[at])
    filled = items + [None] * (index + 1 - len(items))
    filled[index] = _put(filled[index], assignment, at + 1, field)
    return filled


def _object(below: JsonValue, path: Path, field: str) -> JsonObject:
    if below is None or isinstance(below, dict):
        return below or {}
    raise _in_the_way(below, "an object", path, field)


def _list(below: JsonValue, path: Path, field: str) -> list[JsonValue]:
    if below is None or isinstance(below, list):
        return below or []
    raise _in_the_way(below, "a list", path, field)


def _in_the_way(below: JsonValue, needed: str, path: Path, field: str) -> errors.InvalidField:
    found = document.describe(below)
    return errors.InvalidField.of(field, f"{write_path(path)} is {found} already; only {needed} has parts to be set")


class _Reader:
    """Reads an argument from left to right. No message contains a value."""

    def __init__(self, text: str, mode: Mode, read_file: ReadFile | None) -> None:
        self._text = text
        self._mode = mode
        self._read_file = read_file
        self._at = 0

    def assignments(self) -> Iterator[Assignment]:
        """Yield the assignments of the argument."""
        if self._mode is Mode.JSON and self._text.lstrip().startswith("{"):
            yield Assignment((), document.parse_json_object(self._mode.value, self._text))
            return
        while self._at < len(self._text):
            path, has_value = self._path()
            if has_value:
                yield Assignment(path, self._value(path))
            else:
                yield Assignment(path, None, makes_list=True)

    def _path(self) -> tuple[Path, bool]:
        """Read a path up to its `=`; a path that ends with an index may have no `=`, and then there is no value."""
        parts: list[str | int] = []
        # A literal's key may contain commas; in all other modes a comma ends the assignment.
        stops = "=[." if self._mode is Mode.LITERAL else "=[.,"
        while True:
            key, stop = self._until(stops)
            if not key:
                after = f" after {write_path(tuple(parts))}" if parts else f" at character {max(self._at, 1)}"
                self._fail(f"has no key{after}; write KEY=VALUE, and one comma between two of them")
            parts.append(key)
            while stop == "[":
                parts.append(self._index(tuple(parts)))
                stop = self._take()
            if len(parts) - 1 > MAX_LEVELS:
                self._fail(f"{write_path(tuple(parts[:3]))}… has more than {MAX_LEVELS} levels")
            if stop == "=":
                return tuple(parts), True
            if stop == "" and isinstance(parts[-1], int):
                return tuple(parts), False
            if stop != ".":
                self._refuse_end(tuple(parts), stop)

    def _refuse_end(self, path: Path, stop: str) -> NoReturn:
        written = write_path(path)
        if stop in ("", ","):
            self._fail(f"{written} has no value; write {written}=VALUE, or {written}= for an empty text")
        self._fail(f"{written} is followed by {parse.show(stop)}; after an index comes =, . or [")

    def _index(self, path: Path) -> int:
        text, stop = self._until("]")
        written = write_path(path)
        if not stop:
            self._fail(f"{written}[ has no ] after it; write an index such as {written}[0]")
        if not _INDEX.fullmatch(text) or not 0 <= int(text[:20]) <= MAX_INDEX:
            self._fail(f"{written}[{parse.excerpt(text)}] has no index from 0 to {MAX_INDEX:,}")
        return int(text)

    def _value(self, path: Path) -> JsonValue:
        match self._mode:
            case Mode.JSON:
                return self._json(path)
            case Mode.LITERAL:
                rest, self._at = self._text[self._at :], len(self._text)
                return rest
        if self._text.startswith("{", self._at):
            return self._items(path)
        if self._mode is Mode.TYPED and self._text[self._at : self._at + 3] in ("[]", "[],"):
            self._until(",")
            return []
        return self._scalar(self._until(",")[0])

    def _items(self, path: Path) -> list[JsonValue]:
        """Read a list `{a,b}`."""
        self._at += 1
        items: list[JsonValue] = []
        while True:
            item, stop = self._until(",}")
            if stop == "}" and not item and not items:
                break
            items.append(self._scalar(item))
            if not stop:
                self._fail(f"{write_path(path)} is a list without its end; close it with }}")
            if stop == "}":
                break
        self._end(path, "the } of its list")
        return items

    def _scalar(self, text: str) -> JsonValue:
        match self._mode:
            case Mode.FILE if self._read_file is not None:
                return self._read_file(text)
            case Mode.TYPED:
                return _typed(text)
            case _:
                return text

    def _json(self, path: Path) -> JsonValue:
        begin = self._at
        while self._text[begin : begin + 1].isspace():
            begin += 1
        field = self._mode.value
        try:
            _, self._at = json.JSONDecoder().raw_decode(self._text, begin)
            value = document.parse_json(field, self._text[begin : self._at])
        except json.JSONDecodeError as error:
            self._fail(f"{write_path(path)} is not JSON at character {error.pos + 1}: {error.msg}; quote texts in it")
        except RecursionError:
            self._fail(f"{write_path(path)} is nested deeper than {document.MAX_DEPTH} levels")
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        self._end(path, "its JSON")
        return value

    def _end(self, path: Path, what: str) -> None:
        """Read the comma after a value, unless it is the last one."""
        if self._take() not in ("", ","):
            self._fail(f"{write_path(path)} goes on after {what}; put a comma in between, or a backslash before one")

    def _until(self, stops: str) -> tuple[str, str]:
        """Read and consume the text up to one of some characters; remove the escaping backslashes."""
        read: list[str] = []
        while found := self._take():
            if found in stops:
                return "".join(read), found
            if found == "\\":
                found = self._take()
                if not found:
                    self._fail("ends with a backslash; write two of them for one")
            read.append(found)
        return "".join(read), ""

    def _take(self) -> str:
        found = self._text[self._at : self._at + 1]
        self._at += len(found)
        return found

    def _fail(self, description: str) -> NoReturn:
        raise errors.InvalidField.of(self._mode.value, description)


def _typed(text: str) -> JsonValue:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _WHOLE_NUMBER.fullmatch(text) and int(text) in _INT64:
        return int(text)
    return text
