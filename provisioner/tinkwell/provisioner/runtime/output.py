"""Turns the bytes that a run wrote into numbered lines.

Both runtimes keep a run's output as frames: a header of eight bytes (the stream, three zeros, the length of the
payload, big-endian) and the payload, in the order in which it was written. Docker's log endpoint sends this format, and
the process runtime's supervisor writes it to a file. One reader turns frames into lines.

The lines depend only on the content and the order of the frames, and not on the sizes of the reads. So a second reader
that begins at the first byte gives the same lines the same numbers, and the server can tell repeated lines from new
ones.

If a supervisor has dropped output between two frames, a frame of the stream `GAP_STREAM` says how much.

An engine can put a stamp before each payload: the time at which it was written, and a space. Stamps are not output.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tinkwell.client.workflow.model import LogStream
from tinkwell.provisioner.runtime.stream_line import MAX_LINE_BYTES, StreamLines

MAX_BYTES = 10 * 1024 * 1024
# The highest number of a line of output. The two numbers up to 100,000 are left for notes about dropped lines, and
# higher numbers are for the output of a hook.
MAX_LINES = 99_998
HEAD_LINES = MAX_LINES // 2
# The highest number after which lines may begin, so that all notes still get a number.
MAX_BASE = MAX_LINES - 2
# The memory that a line costs besides its text, which limits a run that writes only newlines.
LINE_OVERHEAD_BYTES = 64
HEADER_BYTES = 8
# Stamps of Docker have 31 bytes with the space; those of other engines may have an offset and fewer digits.
MAX_STAMP_BYTES = 64
# The payload of a gap is the number of dropped lines and of dropped bytes, each in eight bytes. No engine uses this
# stream.
GAP_STREAM = 255
GAP_BYTES = 16
_STREAMS = {1: LogStream.STDOUT, 2: LogStream.STDERR, GAP_STREAM: None}
_NUMBERS = {LogStream.STDOUT: 1, LogStream.STDERR: 2}


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line without its newline; `number` counts from 1 over both streams.

    `is_cut`: the line was too long, and the next line of its stream continues it. `is_note`: the line is a remark about
    the output. `is_open`: the line is not complete, and comes again with the same number.
    """

    number: int
    stream: LogStream
    text: str
    is_cut: bool = False
    is_note: bool = False
    is_open: bool = False


class FrameReader:
    """Extracts payloads from the bytes of frames. With `has_stamps` it removes the stamp before each payload."""

    def __init__(self, *, has_stamps: bool = False) -> None:
        self._has_stamps = has_stamps
        self._frames = bytearray()
        self._stream: LogStream | None = LogStream.STDOUT
        self._missing = 0  # Bytes of the current frame's payload that have not come yet.

    @property
    def is_between(self) -> bool:
        """Whether the bytes so far end with a whole frame."""
        return not self._frames and not self._missing

    def feed(self, data: bytes) -> Iterator[tuple[LogStream | None, bytes]]:
        """Take more bytes and yield the payloads in them with their streams, None for the stream of gaps.

        A part of a payload is yielded at once; only a header, with its stamp, is kept until it is complete.
        """
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
    """Turns the output of one run into lines.

    It joins lines across frames, splits lines that are too long, and decodes them: NUL bytes, and bytes that are not
    UTF-8, become U+FFFD. Numbers begin after `base`.

    Output of more than `max_bytes` or `MAX_LINES` is shortened: lines up to half of these limits are yielded as they
    come, and the last lines, up to the other half, by `finish`. A note follows the first half, and another one before
    the last lines says how much was left out.

    A progress, which is a line that carriage returns overwrite, is yielded as an open line after each `feed`, if it is
    the next line. An open line has the number of the line that it becomes, and may come again with another text.
    """

    def __init__(
        self, *, max_bytes: int = MAX_BYTES, base: int = 0, has_stamps: bool = False, is_long: bool = False
    ) -> None:
        """With `is_long`, another reader has yielded the first half, and this one yields only the last lines."""
        self._frames = FrameReader(has_stamps=has_stamps)
        self._lines = {stream: StreamLines() for stream in LogStream}
        # The streams whose current line is a progress, oldest first. The first one gets the next number.
        self._progresses: list[LogStream] = []
        self._opened: OutputLine | None = None
        self._room = max_bytes // 2
        self._last = LastLines(max_bytes // 2, MAX_LINES - HEAD_LINES)
        self._gap = b""
        self._number = base
        # The number of complete lines of each stream, by which another reader of the same output finds this position.
        self.completed = dict.fromkeys(LogStream, 0)
        self.is_long = is_long

    def feed(self, data: bytes) -> Iterator[OutputLine]:
        """Take more bytes and yield the lines that they complete, and the progress as an open line."""
        for stream, payload in self._frames.feed(data):
            if stream is None:
                yield from self._take_gap(payload)
                continue
            lines = self._lines[stream]
            self.completed[stream] += payload.count(b"\n")
            for raw, is_cut in lines.feed(payload):
                yield from self._settle_before(stream)
                yield from self._take(stream, raw, is_cut=is_cut)
            self._note_progress(stream)
        if self._progresses:
            yield from self.open(self._progresses[0], self._lines[self._progresses[0]].shown)

    def open(self, stream: LogStream, shown: bytes) -> Iterator[OutputLine]:
        """Yield the next line as an open one, unless it is empty or was yielded with this text before."""
        opened = OutputLine(self._number + 1, stream, next(_pieces(shown)), is_open=True)
        if shown and opened != self._opened and not self.is_long:
            self._opened = opened
            yield opened

    def finish(self) -> Iterator[OutputLine]:
        """Yield a last line without a newline, and the last lines of a long output; call no method after this."""
        for stream in (*self._progresses, *(stream for stream in LogStream if stream not in self._progresses)):
            for raw, _ in self._lines[stream].finish():
                yield from self._take(stream, raw)
        if not self.is_long:
            return
        kept = self._last.take(MAX_LINES - self._number)
        if self._last.left_out_bytes:
            yield self.note(f"{self._last.left_out_bytes:,} bytes are left out here, in {self._last.left_out:,} lines")
        for stream, text, is_cut in kept:
            yield self._line(stream, text, is_cut=is_cut)

    def note(self, text: str) -> OutputLine:
        """Make a line in brackets that is a remark about the output."""
        self._number += 1
        return OutputLine(self._number, LogStream.STDERR, f"[{text}]", is_note=True)

    def _take_gap(self, payload: bytes) -> Iterator[OutputLine]:
        """Take a supervisor's count of dropped output; all lines that were kept before the gap are dropped too."""
        self._gap += payload
        if len(self._gap) < GAP_BYTES:
            return
        lines, count = int.from_bytes(self._gap[:8]), int.from_bytes(self._gap[8:GAP_BYTES])
        self._gap = b""
        yield from self._become_long()
        for stream, rest in self._lines.items():
            self._last.add(stream, rest.settle()[0], is_cut=True)
        self._progresses.clear()
        self._last.leave_out_all(lines, count)

    def _note_progress(self, stream: LogStream) -> None:
        is_progress = self._lines[stream].is_progress
        if is_progress and stream not in self._progresses:
            self._progresses.append(stream)
        elif not is_progress and stream in self._progresses:
            self._progresses.remove(stream)

    def _settle_before(self, stream: LogStream) -> Iterator[OutputLine]:
        """Complete the progress that has the next number, before a line of another stream."""
        if self._progresses and self._progresses[0] is not stream:
            other = self._progresses.pop(0)
            raw, is_part = self._lines[other].settle()
            yield from self._take(other, raw, is_cut=is_part)
        if stream in self._progresses:
            self._progresses.remove(stream)

    def _take(self, stream: LogStream, raw: bytes, *, is_cut: bool = False) -> Iterator[OutputLine]:
        """Yield a line, or keep it for `finish` if the first half is full."""
        pieces = [] if self.is_long else _split(raw, is_cut=is_cut)
        if not self.is_long:
            self._room -= _size(pieces)
            if self._room < 0 or self._number >= HEAD_LINES:
                yield from self._become_long()
        if self.is_long:
            self._last.add(stream, raw, is_cut=is_cut)
            return
        self._last.precede(stream, is_cut=is_cut)
        for piece, goes_on in pieces:
            yield self._line(stream, piece, is_cut=goes_on)

    def _become_long(self) -> Iterator[OutputLine]:
        if not self.is_long:
            self.is_long = True
            yield self.note("the output is long; its last lines follow when it has ended")

    def _line(self, stream: LogStream, text: str, *, is_cut: bool) -> OutputLine:
        self._number += 1
        return OutputLine(self._number, stream, text, is_cut=is_cut)


class LastLines:
    """Keeps the last lines of an output, at most `max_bytes` and `max_lines` of them, and counts the dropped ones.

    The first kept line is never a part of a longer line: a secret could be cut there and would not be recognised.
    """

    def __init__(self, max_bytes: int, max_lines: int) -> None:
        self._max_bytes = max_bytes
        self._max_lines = max_lines
        self._kept: deque[tuple[LogStream, bytes, bool]] = deque()
        self._bytes = 0
        # The streams whose first kept line continues a line that was dropped or yielded before.
        self._severed: set[LogStream] = set()
        self.left_out = 0
        self.left_out_bytes = 0

    def precede(self, stream: LogStream, *, is_cut: bool) -> None:
        """Record the line before the kept ones; with `is_cut` the first kept line of its stream continues it."""
        (self._severed.add if is_cut else self._severed.discard)(stream)

    def add(self, stream: LogStream, raw: bytes, *, is_cut: bool) -> None:
        """Keep a line, and drop the oldest lines if there are too many."""
        self._kept.append((stream, raw, is_cut))
        self._bytes += len(raw) + LINE_OVERHEAD_BYTES
        while self._bytes > self._max_bytes or len(self._kept) > self._max_lines:
            self._leave_out()

    def leave_out_all(self, lines: int, count: int) -> None:
        """Drop all kept lines, and count `lines` and `count` bytes after them that were dropped elsewhere."""
        while self._kept:
            self._leave_out()
        self._severed.update(LogStream)
        self.left_out += lines
        self.left_out_bytes += count

    def take(self, max_lines: int) -> Iterator[tuple[LogStream, str, bool]]:
        """Return at most `max_lines` lines as text, each with whether the next line of its stream continues it.

        The dropped lines are counted when this returns. The text is decoded while the caller iterates.
        """
        fitting = self._fitting(max_lines)
        while len(self._kept) > fitting:
            self._leave_out()
        whole: list[tuple[LogStream, bytes, bool]] = []
        while self._kept:
            if self._kept[0][0] in self._severed:
                self._leave_out()
            else:
                whole.append(self._kept.popleft())
        return (
            (stream, piece, goes_on) for stream, raw, is_cut in whole for piece, goes_on in _split(raw, is_cut=is_cut)
        )

    def _fitting(self, max_lines: int) -> int:
        """Return how many of the last lines fit into the limits once they are text."""
        size = count = 0
        for place, (_, raw, is_cut) in enumerate(reversed(self._kept)):
            if raw.isascii() and len(raw) <= MAX_LINE_BYTES and b"\0" not in raw:
                size, count = size + len(raw) + LINE_OVERHEAD_BYTES, count + 1
            else:
                pieces = _split(raw, is_cut=is_cut)
                size, count = size + _size(pieces), count + len(pieces)
            if size > self._max_bytes or count > max_lines:
                return place
        return len(self._kept)

    def _leave_out(self) -> None:
        stream, raw, is_cut = self._kept.popleft()
        self._bytes -= len(raw) + LINE_OVERHEAD_BYTES
        self.precede(stream, is_cut=is_cut)
        self.left_out += not is_cut
        self.left_out_bytes += len(raw) + (not is_cut)


def frame(stream: LogStream, payload: bytes) -> bytes:
    """Make a frame."""
    return bytes((_NUMBERS[stream], 0, 0, 0)) + len(payload).to_bytes(4) + payload


def first_stamp(frames: bytes | bytearray) -> str | None:
    """Return the stamp of the first frame, empty if it has none, None if it is not complete yet."""
    stamp = _find_stamp(frames, 0)
    return None if stamp is None else stamp.decode("ascii", errors="replace").strip()


def _find_stamp(frames: bytes | bytearray, frame: int) -> bytes | None:
    """Return the stamp of the frame that begins at `frame`, with its space; None if it is not complete yet."""
    begin = frame + HEADER_BYTES
    length = int.from_bytes(frames[begin - 4 : begin]) if len(frames) >= begin else 0
    end = begin + min(length, MAX_STAMP_BYTES)
    space = frames.find(b" ", begin, end)
    if space >= 0:
        return bytes(frames[begin : space + 1])
    return b"" if begin <= len(frames) and end <= len(frames) else None


def _split(raw: bytes, *, is_cut: bool) -> list[tuple[str, bool]]:
    """Decode a line into pieces that are not too long, each with whether the next piece continues it."""
    pieces = list(_pieces(raw))
    return [(piece, is_cut or place < len(pieces)) for place, piece in enumerate(pieces, 1)]


def _size(pieces: Iterable[tuple[str, bool]]) -> int:
    return sum(len(piece.encode()) + LINE_OVERHEAD_BYTES for piece, _ in pieces)


def _pieces(raw: bytes) -> Iterator[str]:
    """Yield the text of a line in one piece, or in several if replaced characters have made it too long."""
    text = raw.decode("utf-8", errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    if len(text.encode()) <= MAX_LINE_BYTES:
        yield text
        return
    characters = MAX_LINE_BYTES // 4
    for begin in range(0, len(text), characters):
        yield text[begin : begin + characters]
