"""The output of a template: its text, with an unforgeable token in the place of each value.

Theory of operation. A value must never become YAML. So the text for the YAML parser has, in the place of a value, only
the token `U+FDD0 number U+FDD1`: two characters that Unicode reserves for a program's own use, and that a template must
not contain. To YAML a token is a word, which cannot begin, end or quote anything. When the parser has found the
scalars, `fill` replaces the tokens by the values, once, and does not search the values for tokens. So a value is always
a part of one scalar, whatever characters it has.

One other way to make a token remains: an escape within double quotes ("\\uFDD0"). `is_forged` detects it, because the
scalar then has more of these characters than its source.
"""

import bisect
import re
from dataclasses import dataclass

from tinkwell.core.template.gotemplate import fault
from tinkwell.core.template.gotemplate.function import format as gotemplate_format

MAX_OUTPUT_BYTES = 1024 * 1024

_OPEN = "\ufdd0"
_CLOSE = "\ufdd1"
_TOKEN = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
# The most white space before a value that is considered.
MAX_LEAD = 256
_RESERVED = re.compile(f"[{_OPEN}{_CLOSE}]")


@dataclass(frozen=True, slots=True)
class _Segment:
    """A part of the output from one place: text of the template, or the token of an action."""

    start: int
    offset: int
    is_token: bool


@dataclass(frozen=True, slots=True)
class Output:
    """The text with tokens, and their values. `is_outline`: the values are not known yet."""

    text: str
    is_outline: bool
    _template: str
    _values: tuple[str, ...]
    _segments: tuple[_Segment, ...]

    @property
    def size(self) -> int:
        """The characters of the text and of the values."""
        return len(self.text) + sum(map(len, self._values))

    def has_value(self, text: str) -> bool:
        """Return whether a part of the text has a value."""
        return bool(self._values) and _OPEN in text

    def is_forged(self, text: str, *, start: int, end: int) -> bool:
        """Return whether a double-quoted scalar from `start` to `end` has a token that the writer did not make."""
        return text.count(_OPEN) != self.text.count(_OPEN, start, end)

    def fill(self, text: str, *, is_plain: bool) -> str:
        """Put the values into a scalar.

        A plain scalar that is only the result of `printf "%q"` becomes the unquoted text.
        """
        found = _TOKEN.fullmatch(text)
        if found and is_plain:
            whole = self._values[int(found[1])]
            return whole.original if isinstance(whole, gotemplate_format.Quoted) else whole
        return _TOKEN.sub(self._value, text)

    def _value(self, token: re.Match[str]) -> str:
        value = self._values[int(token[1])]
        if not isinstance(value, _Lines):
            return value
        start = token.start()
        before = token.string[max(0, start - MAX_LEAD) : start].rpartition("\n")[2]
        # YAML has removed a part of the first line's indentation; the same part is removed from the other lines.
        indent = "" if before.strip(" ") or len(before) == MAX_LEAD else before[value.own :]
        return value.replace("\n", f"\n{indent}")

    def place(self, start: int) -> str:
        """Return the line and column of the template from which a place of the text comes."""
        at = bisect.bisect_right(self._segments, start, key=lambda segment: segment.start) - 1
        if at < 0:
            return place(self._template, 0)
        segment = self._segments[at]
        return place(self._template, segment.offset + (0 if segment.is_token else start - segment.start))


def place(text: str, offset: int) -> str:
    """Return the line and column of an offset, both from 1."""
    line_start = text.rfind("\n", 0, offset) + 1
    return f"line {text.count(chr(10), 0, offset) + 1}, column {offset - line_start + 1}"


def find_reserved(text: str) -> int | None:
    """Return the offset of a character of a template that is reserved for tokens, None if there is none."""
    found = _RESERVED.search(text)
    return found.start() if found else None


class _Lines(str):
    """A value whose lines are indented like the first one, which has `own` more characters in front."""

    __slots__ = ("own",)

    def __new__(cls, text: str, own: int) -> "_Lines":
        """Keep a text with the number of characters in front of it."""
        lines = super().__new__(cls, text)
        lines.own = own
        return lines

    own: int


class Writer:
    """Collects the output of one run, up to MAX_OUTPUT_BYTES of text and values."""

    def __init__(self, template: str, *, is_outline: bool = False) -> None:
        self._remaining_bytes = MAX_OUTPUT_BYTES
        self._template = template
        self._is_outline = is_outline
        self._parts: list[str] = []
        self._length = 0
        self._column = 0
        self._values: list[str] = []
        self._segments: list[_Segment] = []

    def write_text(self, text: str, offset: int) -> None:
        """Add text of the template."""
        self._take(text, offset)
        self._append(text, offset, is_token=False)

    def write_value(self, text: str, offset: int) -> None:
        """Add a value that the action at `offset` prints."""
        self._take(text, offset)
        self._append(f"{_OPEN}{len(self._values)}{_CLOSE}", offset, is_token=True)
        self._values.append(text)

    def write_block(self, lead: str, text: str, offset: int) -> None:
        """Add a value with indented lines; the indentation `lead` of the first line is text of the template."""
        self._remaining_bytes -= text.count("\n") * len(lead)
        self._take(lead + text, offset)
        own = 0 if lead.startswith("\n") else self._column
        self._append(lead, offset, is_token=True)
        self._append(f"{_OPEN}{len(self._values)}{_CLOSE}", offset, is_token=True)
        self._values.append(text if self._is_outline else _Lines(text.rstrip("\n"), own))

    def output(self) -> Output:
        """Return the output."""
        return Output(
            "".join(self._parts), self._is_outline, self._template, tuple(self._values), tuple(self._segments)
        )

    def _take(self, text: str, offset: int) -> None:
        self._remaining_bytes -= len(text.encode(errors="surrogatepass"))
        if self._remaining_bytes < 0:
            raise fault.Fault(f"the output is too large; it has at most {MAX_OUTPUT_BYTES:,} bytes", offset=offset)

    def _append(self, part: str, offset: int, *, is_token: bool) -> None:
        self._segments.append(_Segment(self._length, offset, is_token))
        self._parts.append(part)
        self._length += len(part)
        end = part.rfind("\n")
        self._column = len(part) - end - 1 if end >= 0 else self._column + len(part)
