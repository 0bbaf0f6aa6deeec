"""The output of a template: its text, in which each value is a token that no text and no value can forge.

Theory of operation. A value must never become YAML. So the text that is given to the YAML parser holds, where a value
belongs, only the token `U+FDD0 number U+FDD1`: two characters that Unicode reserves for a program's own use, and that
a template must not hold. To YAML a token is a word like any other, which cannot begin, end or quote anything. When the
parser has found the scalars, `fill` puts the values in the place of the tokens, once, and looks at nothing of what it
has put in. A value is therefore a part of one scalar, whatever it is made of.

The one way left to make a token is an escape within double quotes ("\\uFDD0"). `is_forged` sees it: the scalar then has
more of these characters than its source.
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
# As much white space before a value is looked at.
MAX_LEAD = 256
_RESERVED = re.compile(f"[{_OPEN}{_CLOSE}]")


@dataclass(frozen=True, slots=True)
class _Segment:
    """A run of output that comes from one place: text that goes on with the template's, or a token for an action."""

    start: int
    offset: int
    is_token: bool


@dataclass(frozen=True, slots=True)
class Output:
    """The text with tokens, and what stands behind them. `is_outline` tells that the values are not known yet."""

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
        """Tell whether a part of the text holds a value."""
        return bool(self._values) and _OPEN in text

    def is_forged(self, text: str, *, start: int, end: int) -> bool:
        """Tell whether a double-quoted scalar, found from `start` to `end`, holds a token that was not made here."""
        return text.count(_OPEN) != self.text.count(_OPEN, start, end)

    def fill(self, text: str, *, is_plain: bool) -> str:
        """Put the values into a scalar.

        A plain scalar that is nothing but the result of `printf "%q"` becomes the text that was quoted.
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
        # What YAML has left of the first line's indentation is what it would have left of that of the others.
        indent = "" if before.strip(" ") or len(before) == MAX_LEAD else before[value.own :]
        return value.replace("\n", f"\n{indent}")

    def place(self, start: int) -> str:
        """Tell which line and column of the template a place of the text comes from."""
        at = bisect.bisect_right(self._segments, start, key=lambda segment: segment.start) - 1
        if at < 0:
            return place(self._template, 0)
        segment = self._segments[at]
        return place(self._template, segment.offset + (0 if segment.is_token else start - segment.start))


def place(text: str, offset: int) -> str:
    """Tell the line and column of an offset, both from 1."""
    line_start = text.rfind("\n", 0, offset) + 1
    return f"line {text.count(chr(10), 0, offset) + 1}, column {offset - line_start + 1}"


def find_reserved(text: str) -> int | None:
    """Find a character of a template that is reserved for tokens."""
    found = _RESERVED.search(text)
    return found.start() if found else None


class _Lines(str):
    """A value whose lines are indented, all like the first one, which has `own` more characters before it."""

    __slots__ = ("own",)

    def __new__(cls, text: str, own: int) -> "_Lines":
        """Keep a text with what stands before it."""
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
        """Add a value whose lines are indented: the first by `lead`, white space, which is text of the template."""
        self._remaining_bytes -= text.count("\n") * len(lead)
        self._take(lead + text, offset)
        own = 0 if lead.startswith("\n") else self._column
        self._append(lead, offset, is_token=True)
        self._append(f"{_OPEN}{len(self._values)}{_CLOSE}", offset, is_token=True)
        self._values.append(text if self._is_outline else _Lines(text.rstrip("\n"), own))

    def output(self) -> Output:
        """Give what was written."""
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
