"""From the bytes that a run wrote to numbered lines.

Both runtimes keep a run's output as frames: a header of eight bytes (the stream, three zeros, the length of the
payload, big-endian) and the payload, in the order in which it was written. Docker's log endpoint speaks it, and the
process runtime's supervisor writes it to a file. One reader turns frames into lines.

The lines depend on the frames' content and order alone, not on how reading cut them, so a second reader that begins at
the first byte gives the same numbers to the same lines. That lets a server tell repeated lines from new ones.

Where asked, an engine puts a stamp before each payload: when it was written, and a space. A stamp is no output.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tinkwell.client.workflow.model import LogStream

MAX_LINE_BYTES = 16 * 1024
MAX_BYTES = 10 * 1024 * 1024
# Numbers above 100,000 are a hook's. Two are left for what is said about lines that were dropped.
MAX_LINES = 99_998
# What keeping a line costs beside its text: without it, a run that writes nothing but newlines has no limit.
LINE_OVERHEAD_BYTES = 64
HEADER_BYTES = 8
# Docker's have 31 with the space; other engines' have an offset and fewer digits.
MAX_STAMP_BYTES = 64
_STREAMS = {1: LogStream.STDOUT, 2: LogStream.STDERR}
_NUMBERS = {stream: number for number, stream in _STREAMS.items()}


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line without its end; `number` counts from 1 over both streams.

    `is_cut` says that it was too long, and that the next one of its stream goes on with it.
    """

    number: int
    stream: LogStream
    text: str
    is_cut: bool = False


class FrameReader:
    """Turns bytes into payloads, as they come; with `has_stamps`, without the stamps before them."""

    def __init__(self, *, has_stamps: bool = False) -> None:
        self._has_stamps = has_stamps
        self._frames = bytearray()
        self._stream = LogStream.STDOUT
        self._missing = 0  # bytes of the current frame's payload that have not come yet

    @property
    def is_between(self) -> bool:
        """Whether all that has come is whole frames."""
        return not self._frames and not self._missing

    def feed(self, data: bytes) -> Iterator[tuple[LogStream, bytes]]:
        """Take more bytes and yield what they bring of payloads; only a header ever waits for more."""
        self._frames += data
        begin = 0
        try:
            while True:
                if self._missing == 0:
                    header = self._frames[begin : begin + HEADER_BYTES]
                    stamp = _find_stamp(self._frames, begin) if self._has_stamps else b""
                    if len(header) < HEADER_BYTES or stamp is None:
                        break
                    self._stream = _STREAMS.get(header[0], LogStream.STDOUT)
                    self._missing = int.from_bytes(header[4:]) - len(stamp)
                    begin += HEADER_BYTES + len(stamp)
                payload = bytes(self._frames[begin : begin + self._missing])
                if not payload and self._missing:
                    break
                begin += len(payload)
                self._missing -= len(payload)
                yield self._stream, payload
        finally:
            del self._frames[:begin]


class OutputReader:
    """Turns one run's output into lines, as it comes.

    Lines are joined over frames, split where they are too long, and made text: what is not UTF-8 and every NUL become
    U+FFFD. After `max_bytes`, or the line `MAX_LINES`, one last line says that the rest was dropped, and `is_full`
    holds. Numbers begin after `base`.
    """

    def __init__(self, *, max_bytes: int = MAX_BYTES, base: int = 0, has_stamps: bool = False) -> None:
        self._max_bytes = max_bytes
        self._frames = FrameReader(has_stamps=has_stamps)
        self._partial = {stream: bytearray() for stream in LogStream}
        self._bytes = 0
        self._number = base
        self.is_full = False
        self.is_finished = False

    def feed(self, data: bytes) -> Iterator[OutputLine]:
        """Take more bytes and yield the lines that they complete."""
        for stream, payload in self._frames.feed(data):
            if self.is_full:
                break
            self._partial[stream] += payload
            for raw, is_cut in _take_lines(self._partial[stream]):
                yield from self._emit(stream, raw, is_cut=is_cut)

    def finish(self) -> Iterator[OutputLine]:
        """Yield what was written without a newline at the end; nothing may be fed afterwards."""
        self.is_finished = True
        for stream, partial in self._partial.items():
            if partial:
                yield from self._emit(stream, bytes(partial))

    def note(self, text: str) -> OutputLine:
        """Say something about the output in the midst of it, in brackets."""
        self._number += 1
        return OutputLine(self._number, LogStream.STDERR, f"[{text}]")

    def _emit(self, stream: LogStream, raw: bytes, *, is_cut: bool = False) -> Iterator[OutputLine]:
        text = raw.decode("utf-8", errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
        pieces = list(_split_text(text))
        for place, piece in enumerate(pieces, 1):
            if self.is_full:
                return
            self._bytes += len(piece.encode()) + LINE_OVERHEAD_BYTES
            self.is_full = self._bytes > self._max_bytes or self._number >= MAX_LINES
            if not self.is_full:
                self._number += 1
                yield OutputLine(self._number, stream, piece, is_cut=is_cut or place < len(pieces))
            elif self._number >= MAX_LINES:
                yield self.note(f"the rest of the output was dropped: it has more than {MAX_LINES:,} lines")
            else:
                yield self.note(f"the rest of the output was dropped: it is more than {self._max_bytes:,} bytes")


def frame(stream: LogStream, payload: bytes) -> bytes:
    """Make a frame."""
    return bytes((_NUMBERS[stream], 0, 0, 0)) + len(payload).to_bytes(4) + payload


def first_stamp(frames: bytes | bytearray) -> str | None:
    """Return the stamp of the first frame, empty where it has none, None where not all of it has come."""
    stamp = _find_stamp(frames, 0)
    return None if stamp is None else stamp.decode("ascii", errors="replace").strip()


def _find_stamp(frames: bytes | bytearray, frame: int) -> bytes | None:
    """Return the stamp of the frame that begins there, with its space; None where that cannot be known yet."""
    begin = frame + HEADER_BYTES
    length = int.from_bytes(frames[begin - 4 : begin]) if len(frames) >= begin else 0
    end = begin + min(length, MAX_STAMP_BYTES)
    space = frames.find(b" ", begin, end)
    if space >= 0:
        return bytes(frames[begin : space + 1])
    return b"" if begin <= len(frames) and end <= len(frames) else None


def _take_lines(buffer: bytearray) -> Iterator[tuple[bytes, bool]]:
    """Remove the complete lines from a buffer, and pieces of a line that is too long, and say which of both it is."""
    begin = 0
    while True:
        newline = buffer.find(b"\n", begin, begin + MAX_LINE_BYTES + 1)
        if newline >= 0:
            line, begin = bytes(buffer[begin:newline]), newline + 1
            yield line.removesuffix(b"\r"), False
        elif len(buffer) - begin > MAX_LINE_BYTES:
            cut = _cut(buffer, begin, begin + MAX_LINE_BYTES)
            line, begin = bytes(buffer[begin:cut]), cut
            yield line, True
        else:
            break
    del buffer[:begin]


def _cut(buffer: bytearray, begin: int, end: int) -> int:
    """Move `end` back to where a character of UTF-8 begins; what is not UTF-8 is cut where it is."""
    for cut in range(end, max(end - 4, begin), -1):
        if buffer[cut] & 0xC0 != 0x80:
            return cut
    return end


def _split_text(text: str) -> Iterator[str]:
    """Split a text that replacing has made longer than a line may be; an empty line is a line."""
    if len(text.encode()) <= MAX_LINE_BYTES:
        yield text
        return
    characters = MAX_LINE_BYTES // 4
    for begin in range(0, len(text), characters):
        yield text[begin : begin + characters]
