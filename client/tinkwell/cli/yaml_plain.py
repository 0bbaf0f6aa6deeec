"""The plainest YAML, read fifty times as fast as ruamel.yaml reads it: what lists of thousands of machines are made of.

A text is cut into its documents, and a document that is a list into its items; each piece is read alone, so that the
place of something is found by looking at one piece. What is not plain is left to ruamel.yaml: a piece, or the whole
text where pieces might belong together. So this knows no errors, and never a value that ruamel.yaml does not give.

    piece    block mappings and lists, of keys that are words
    scalar   words, whole numbers, decimals, true, false, null, MAC and IP addresses, UUIDs; quoted text without escapes
             or line ends; lists of these in brackets
"""

import decimal
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tinkwell.core.document import MAX_DEPTH, JsonValue

_Plain = str | int | bool | decimal.Decimal | None

_WORD = r"[\w./@+-]+(?::[\w./@+-]+)*"
_TEXT = re.compile(
    rf"(?P<words>[A-Za-z_/][\w./@+-]*(?::[\w./@+-]+)*(?: {_WORD})*)"
    r"|(?P<address>[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}|[0-9]{1,3}(?:\.[0-9]{1,3}){3}"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
    r"|(?P<integer>0|[1-9][0-9]{0,17})"
    r"|(?P<decimal>(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18})"
    r"|\"(?P<double>[\x20\x21\x23-\x5b\x5d-\x7e]*)\"|'(?P<single>[\x20-\x26\x28-\x7e]*)'",
    re.ASCII,
)
_CONSTANTS: dict[str, _Plain] = {"true": True, "false": False, "null": None}
# Words that mean something else to some YAML, in some spelling.
_SUSPECT = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"))
_PAIR = re.compile(r"([A-Za-z_][\w./-]*):(?: (.+))?", re.ASCII)
_ITEM = "- "
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class NotPlain(Exception):
    """The text is left to ruamel.yaml."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines that are a document, or an item of a list that is one; `line` of the whole text comes before them."""

    line: int
    text: str
    is_item: bool

    @property
    def may_refer(self) -> bool:
        """Whether it may have to do with other pieces: anchors, aliases and merges."""
        return "&" in self.text or "*" in self.text or "<<" in self.text


def split(text: str) -> list[Piece]:
    """Cut a text into pieces, each as it stands there; raises `NotPlain` for one that only the whole can explain."""
    if "\r" in text or "\t" in text or "\n%" in text or text.startswith("%"):
        raise NotPlain
    pieces: list[Piece] = []
    begin, lines = 0, _LINE.findall(text)
    for at, line in enumerate([*lines, "---\n"]):
        if line.startswith("---"):
            if line != "---\n":
                raise NotPlain
            pieces += _split_document(begin, lines[begin:at])
            begin = at + 1
        elif line.startswith("..."):
            raise NotPlain
    return pieces


def read(piece: Piece) -> JsonValue:
    """Read a piece; raises `NotPlain`."""
    lines = [
        (len(line) - len(body), body)
        for line in piece.text.split("\n")
        if (body := line.lstrip(" ")) and not body.startswith("#")
    ]
    if not lines or lines[0][0]:
        raise NotPlain
    return _Reader(lines).read()


def _split_document(begin: int, lines: Sequence[str]) -> list[Piece]:
    significant = [at for at, line in enumerate(lines) if line.strip(" \n") and line[0] != "#"]
    if not significant:
        # Nothing at all is no document, except after the line that begins one.
        if begin:
            raise NotPlain
        return []
    starts = [at for at in significant if lines[at][0] != " "]
    if starts[:1] != significant[:1]:
        raise NotPlain
    if not all(lines[at].startswith(_ITEM) for at in starts):
        return [Piece(begin, "".join(lines), is_item=False)]
    ends = [*starts[1:], len(lines)]
    return [
        Piece(begin + start, "".join(lines[start:end]), is_item=True) for start, end in zip(starts, ends, strict=True)
    ]


class _Reader:
    """Reads lines, each of which is its column and what begins there."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self._lines = lines
        self._at = 0

    def read(self) -> JsonValue:
        value = self._block(0, 1)
        # A line that nobody took belongs to something else than it seemed.
        if self._at < len(self._lines):
            raise NotPlain
        return value

    def _block(self, column: int, depth: int) -> JsonValue:
        if depth > MAX_DEPTH:
            raise NotPlain
        body = self._lines[self._at][1]
        if body.startswith(_ITEM):
            return self._list(column, depth)
        if _PAIR.fullmatch(body):
            return self._mapping(column, depth)
        self._at += 1
        return _value(body)

    def _list(self, column: int, depth: int) -> JsonValue:
        items: list[JsonValue] = []
        while (body := self._body(column)) and body.startswith(_ITEM):
            self._lines[self._at] = (column + 2, body[2:])
            items.append(self._block(column + 2, depth + 1))
        return items

    def _mapping(self, column: int, depth: int) -> JsonValue:
        pairs: dict[str, JsonValue] = {}
        while (body := self._body(column)) and (pair := _PAIR.fullmatch(body)):
            key, content = pair.groups()
            if key in pairs:
                raise NotPlain
            self._at += 1
            pairs[key] = _value(content) if content else self._below(column, depth + 1)
        return pairs

    def _below(self, column: int, depth: int) -> JsonValue:
        """Read the value of a key that has none on its own line; a list may begin in the column of the key."""
        if self._at == len(self._lines):
            return None
        next_column, body = self._lines[self._at]
        if next_column > column:
            return self._block(next_column, depth)
        return self._list(column, depth) if next_column == column and body.startswith(_ITEM) else None

    def _body(self, column: int) -> str:
        """Give the next line, if it begins in this column."""
        if self._at == len(self._lines) or self._lines[self._at][0] != column:
            return ""
        return self._lines[self._at][1]


def _value(text: str) -> JsonValue:
    if text[0] == "[" and text[-1] == "]":
        return [_scalar(item) for item in text[1:-1].split(", ")] if len(text) > 2 else []
    return {} if text == "{}" else _scalar(text)


@functools.lru_cache(maxsize=10_000)
def _scalar(text: str) -> _Plain:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    found = _TEXT.fullmatch(text)
    if found is None or text.lower() in _SUSPECT:
        raise NotPlain
    match found.lastgroup:
        case "integer":
            return int(text)
        case "decimal":
            return decimal.Decimal(text)
        case "double" | "single":
            return text[1:-1]
        case _:
            return text
