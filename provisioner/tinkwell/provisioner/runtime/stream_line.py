"""Splits the bytes of one stream into lines, and tells what a terminal would show of the incomplete last line.

A carriage return without a newline makes a terminal overwrite the line. Of such a line, only the text after the last
carriage return is kept, or the text before it if nothing came after: the last state of a progress.
"""

import re
from collections.abc import Iterator

MAX_LINE_BYTES = 16 * 1024
_END = re.compile(rb"[\r\n]")


class StreamLines:
    """Takes the bytes of one stream. The lines depend only on the bytes, and not on the sizes of the reads."""

    def __init__(self) -> None:
        self._rest = bytearray()
        # The text before the last carriage return of this line.
        self._before = b""
        self._is_settled = False
        self._is_returned = False
        # Whether a carriage return stands right before the text in `_rest`, and whether one stood before `_before`.
        self._has_begin = self._had_begin = False

    @property
    def is_progress(self) -> bool:
        """Whether the incomplete line has a carriage return and some text."""
        return self._is_returned and bool(self._rest or self._before)

    @property
    def shown(self) -> bytes:
        """The text that a terminal shows of the incomplete line."""
        return bytes(self._rest) or self._before

    @property
    def has_begin(self) -> bool:
        """Whether the shown text follows a carriage return, so that it is not the rest of a longer text."""
        return self._has_begin if self._rest else self._had_begin

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """Take more bytes, and yield the lines that they complete and the parts of a line that is too long.

        The bool is True for such a part, which the next one continues.
        """
        self._rest += data
        begin = 0
        try:
            while True:
                found = _END.search(self._rest, begin, begin + MAX_LINE_BYTES + 1)
                if found is not None:
                    written, begin = bytes(self._rest[begin : found.start()]), found.end()
                    if self._rest[found.start()] == ord("\n"):
                        yield from self._complete(written)
                    else:
                        self._return(written)
                elif len(self._rest) - begin > MAX_LINE_BYTES:
                    cut = _cut(self._rest, begin, begin + MAX_LINE_BYTES)
                    part, begin = bytes(self._rest[begin:cut]), cut
                    self._has_begin = False
                    yield part, True
                else:
                    return
        finally:
            del self._rest[:begin]

    def settle(self) -> tuple[bytes, bool]:
        """Return the current text of a progress as a line, because a line of another stream follows.

        The bool is True if more of this text may come, so that the next line continues it.
        """
        is_part = not self._before
        if is_part:
            text = bytes(self._rest)
            self._rest.clear()
            self._has_begin = False
        else:
            text, self._before = self._before, b""
        self._is_returned = False
        self._is_settled = True
        return text, is_part

    def finish(self) -> Iterator[tuple[bytes, bool]]:
        """Yield the last line if it has no newline."""
        if self.shown:
            yield self.shown, False

    def _return(self, written: bytes) -> None:
        if written:
            self._before, self._had_begin = written, self._has_begin
        self._is_returned = self._has_begin = True

    def _complete(self, written: bytes) -> Iterator[tuple[bytes, bool]]:
        text = written or self._before
        # If the line was settled and nothing was added since, its text was yielded already.
        if text or not self._is_settled:
            yield text, False
        self._before = b""
        self._is_returned = self._is_settled = self._has_begin = False


def _cut(buffer: bytearray, begin: int, end: int) -> int:
    """Move `end` back to the beginning of a UTF-8 character; bytes that are not UTF-8 are cut at `end`."""
    for cut in range(end, max(end - 4, begin), -1):
        if buffer[cut] & 0xC0 != 0x80:
            return cut
    return end
