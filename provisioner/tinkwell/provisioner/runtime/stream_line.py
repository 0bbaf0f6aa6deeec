"""From the bytes of one stream to its lines, and to what a terminal would show of the line that is not complete.

A carriage return that no newline follows has a terminal write over the line. What is left of such a line is what was
written after its last carriage return, or before it where nothing came after: the last state of a progress.
"""

import re
from collections.abc import Iterator

MAX_LINE_BYTES = 16 * 1024
_END = re.compile(rb"[\r\n]")


class StreamLines:
    """Takes the bytes of one stream. The lines depend on the bytes alone, and not on how these were cut."""

    def __init__(self) -> None:
        self._rest = bytearray()
        # What was written before the last carriage return of this line.
        self._before = b""
        self._is_settled = False
        self.is_progress = False

    @property
    def shown(self) -> bytes:
        """What a terminal shows of the line that is not complete."""
        return bytes(self._rest) or self._before

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """Take more bytes and yield the lines that they complete, and parts of a line that is too long.

        With each comes whether it is such a part, so that the next one goes on with it.
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
                        self._before = written or self._before
                        self.is_progress = True
                elif len(self._rest) - begin > MAX_LINE_BYTES:
                    cut = _cut(self._rest, begin, begin + MAX_LINE_BYTES)
                    part, begin = bytes(self._rest[begin:cut]), cut
                    yield part, True
                else:
                    return
        finally:
            del self._rest[:begin]

    def settle(self) -> bytes:
        """Take what stands of a progress for a line, since a line of another stream follows; there may be nothing."""
        if self._before:
            text, self._before = self._before, b""
        else:
            text = bytes(self._rest)
            self._rest.clear()
        self.is_progress = False
        self._is_settled = True
        return text

    def finish(self) -> Iterator[tuple[bytes, bool]]:
        """Yield what was written without a newline at the end."""
        if self.shown:
            yield self.shown, False

    def _complete(self, written: bytes) -> Iterator[tuple[bytes, bool]]:
        text = written or self._before
        # A line that was settled, and to which nothing was added, has been yielded.
        if text or not self._is_settled:
            yield text, False
        self._before = b""
        self.is_progress = self._is_settled = False


def _cut(buffer: bytearray, begin: int, end: int) -> int:
    """Move `end` back to where a character of UTF-8 begins; what is not UTF-8 is cut where it is."""
    for cut in range(end, max(end - 4, begin), -1):
        if buffer[cut] & 0xC0 != 0x80:
            return cut
    return end
