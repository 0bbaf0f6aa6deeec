"""From the bytes that a run wrote to numbered lines.

Both runtimes keep a run's output as frames: a header of eight bytes (the stream, three zeros, the length of the
payload, big-endian) and the payload, in the order in which it was written. Docker's log endpoint speaks it, and the
process runtime's supervisor writes it to a file. One reader turns frames into lines.

The lines depend on the frames' content and order alone, not on how reading cut them, so a second reader that begins at
the first byte gives the same numbers to the same lines. That lets a server tell repeated lines from new ones.

Where a supervisor has left out what was written between two frames, a frame of a stream of its own says how much.

Where asked, an engine puts a stamp before each payload: when it was written, and a space. A stamp is no output.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tinkwell.client.workflow.model import LogStream
from tinkwell.provisioner.runtime.stream_line import MAX_LINE_BYTES, StreamLines

MAX_BYTES = 10 * 1024 * 1024
# Numbers above 100,000 are a hook's. Two are left for what is said about lines that were left out.
MAX_LINES = 99_998
HEAD_LINES = MAX_LINES // 2
# Where numbers begin at the latest, so that all notes have one.
MAX_BASE = MAX_LINES - 2
# What keeping a line costs beside its text: without it, a run that writes nothing but newlines has no limit.
LINE_OVERHEAD_BYTES = 64
HEADER_BYTES = 8
# Docker's have 31 with the space; other engines' have an offset and fewer digits.
MAX_STAMP_BYTES = 64
# Its payload is the number of lines and that of bytes, in eight bytes each. No engine has such a stream.
GAP_STREAM = 255
GAP_BYTES = 16
_STREAMS = {1: LogStream.STDOUT, 2: LogStream.STDERR, GAP_STREAM: None}
_NUMBERS = {LogStream.STDOUT: 1, LogStream.STDERR: 2}


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line without its end; `number` counts from 1 over both streams.

    `is_cut` says that it was too long, and that the next one of its stream goes on with it, and `is_note` that it is
    said of the output, and is none. An open line is not complete: it comes again, by the same number.
    """

    number: int
    stream: LogStream
    text: str
    is_cut: bool = False
    is_note: bool = False
    is_open: bool = False


class FrameReader:
    """Turns bytes into payloads, as they come; with `has_stamps`, without the stamps before them."""

    def __init__(self, *, has_stamps: bool = False) -> None:
        self._has_stamps = has_stamps
        self._frames = bytearray()
        self._stream: LogStream | None = LogStream.STDOUT
        self._missing = 0  # bytes of the current frame's payload that have not come yet

    @property
    def is_between(self) -> bool:
        """Whether all that has come is whole frames."""
        return not self._frames and not self._missing

    def feed(self, data: bytes) -> Iterator[tuple[LogStream | None, bytes]]:
        """Take more bytes and yield what they bring of payloads, those of gaps for no stream.

        Only a header ever waits for more.
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
    """Turns one run's output into lines, as it comes.

    Lines are joined over frames, split where they are too long, and made text: what is not UTF-8 and every NUL become
    U+FFFD. Numbers begin after `base`.

    Of an output of more than `max_bytes`, or of more than `MAX_LINES` lines, the first half of so much is yielded as it
    comes and the last half by `finish`. Notes stand where the first half ends, and between both, of what was left out.

    A progress, which is written over by carriage returns, is yielded as an open line after each `feed`, if it is the
    next line. An open line has the number of the line that it becomes, and may come again with another text.
    """

    def __init__(
        self, *, max_bytes: int = MAX_BYTES, base: int = 0, has_stamps: bool = False, is_long: bool = False
    ) -> None:
        """With `is_long` it is what is left of an output whose first half was yielded by another reader."""
        self._frames = FrameReader(has_stamps=has_stamps)
        self._lines = {stream: StreamLines() for stream in LogStream}
        # The streams whose line is a progress, in the order in which they became one. The next number is the first's.
        self._progresses: list[LogStream] = []
        self._opened: OutputLine | None = None
        self._room = max_bytes // 2
        self._last = LastLines(max_bytes // 2, MAX_LINES - HEAD_LINES)
        self._gap = b""
        self._number = base
        # How many lines of each stream were complete, which tells who reads the same elsewhere how far this one is.
        self.completed = dict.fromkeys(LogStream, 0)
        self.is_long = is_long

    def feed(self, data: bytes) -> Iterator[OutputLine]:
        """Take more bytes and yield the lines that they complete."""
        for stream, payload in self._frames.feed(data):
            if stream is None:
                yield from self._take_gap(payload)
                continue
            lines = self._lines[stream]
            self.completed[stream] += payload.count(b"\n")
            for raw, is_cut in lines.feed(payload):
                yield from self._settle_before(stream)
                yield from self._take(stream, raw, is_cut=is_cut)
            self._note_progress(stream, lines)
        if self._progresses:
            yield from self.open(self._progresses[0], self._lines[self._progresses[0]].shown)

    def open(self, stream: LogStream, shown: bytes) -> Iterator[OutputLine]:
        """Yield the line that comes next as an open one, if there is something in it that was not yielded so."""
        opened = OutputLine(self._number + 1, stream, next(_pieces(shown)), is_open=True)
        if shown and opened != self._opened and not self.is_long:
            self._opened = opened
            yield opened

    def finish(self) -> Iterator[OutputLine]:
        """Yield what was written without a newline at the end, and the end of a long output; nothing may follow."""
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
        """Say something about the output in the midst of it, in brackets."""
        self._number += 1
        return OutputLine(self._number, LogStream.STDERR, f"[{text}]", is_note=True)

    def _take_gap(self, payload: bytes) -> Iterator[OutputLine]:
        """Take what a supervisor says of what it has left out, as left out with all that was kept before it."""
        self._gap += payload
        if len(self._gap) < GAP_BYTES:
            return
        lines, count = int.from_bytes(self._gap[:8]), int.from_bytes(self._gap[8:GAP_BYTES])
        self._gap = b""
        yield from self._become_long()
        for stream, rest in self._lines.items():
            self._last.add(stream, rest.settle(), is_cut=True)
        self._last.leave_out_all(lines, count)

    def _note_progress(self, stream: LogStream, lines: StreamLines) -> None:
        if lines.is_progress and stream not in self._progresses:
            self._progresses.append(stream)
        elif not lines.is_progress and stream in self._progresses:
            self._progresses.remove(stream)

    def _settle_before(self, stream: LogStream) -> Iterator[OutputLine]:
        """Complete the progress that has the next number, before a line of another stream."""
        if self._progresses and self._progresses[0] is not stream:
            other = self._progresses.pop(0)
            if raw := self._lines[other].settle():
                yield from self._take(other, raw)
        if stream in self._progresses:
            self._progresses.remove(stream)

    def _take(self, stream: LogStream, raw: bytes, *, is_cut: bool = False) -> Iterator[OutputLine]:
        """Yield a line, or keep it where the first half is full."""
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
    """Keeps the last lines of an output, so many bytes and lines of them, and counts what is left out before these.

    It never begins in the midst of a line: of a secret there, nobody would know any more.
    """

    def __init__(self, max_bytes: int, max_lines: int) -> None:
        self._max_bytes = max_bytes
        self._max_lines = max_lines
        self._kept: deque[tuple[LogStream, bytes, bool]] = deque()
        self._bytes = 0
        # The streams of which what comes first goes on with a line whose beginning is not here.
        self._severed: set[LogStream] = set()
        self.left_out = 0
        self.left_out_bytes = 0

    def precede(self, stream: LogStream, *, is_cut: bool) -> None:
        """Hear of what comes before all that is added: a line of a stream, or a part of it."""
        (self._severed.add if is_cut else self._severed.discard)(stream)

    def add(self, stream: LogStream, raw: bytes, *, is_cut: bool) -> None:
        """Keep a line."""
        self._kept.append((stream, raw, is_cut))
        self._bytes += len(raw) + LINE_OVERHEAD_BYTES
        while self._bytes > self._max_bytes or len(self._kept) > self._max_lines:
            self._leave_out()

    def leave_out_all(self, lines: int, count: int) -> None:
        """Leave out all that is kept, and hear of so many lines and bytes after it that nobody has kept."""
        while self._kept:
            self._leave_out()
        self._severed.update(LogStream)
        self.left_out += lines
        self.left_out_bytes += count

    def take(self, max_lines: int) -> list[tuple[LogStream, str, bool]]:
        """Return so many lines as text, each with whether the next one of its stream goes on with it."""
        taken: list[tuple[LogStream, str, bool]] = []
        fitting = self._fitting(max_lines)
        while len(self._kept) > fitting:
            self._leave_out()
        while self._kept:
            if self._kept[0][0] in self._severed:
                self._leave_out()
            else:
                stream, raw, is_cut = self._kept.popleft()
                taken += [(stream, piece, goes_on) for piece, goes_on in _split(raw, is_cut=is_cut)]
        return taken

    def _fitting(self, max_lines: int) -> int:
        """Return how many of the last lines are no more than may be yielded once they are text."""
        size = count = 0
        for place, (_, raw, is_cut) in enumerate(reversed(self._kept)):
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


def _split(raw: bytes, *, is_cut: bool) -> list[tuple[str, bool]]:
    """Make a line text, in pieces that are not too long, each with whether the next one goes on with it."""
    pieces = list(_pieces(raw))
    return [(piece, is_cut or place < len(pieces)) for place, piece in enumerate(pieces, 1)]


def _size(pieces: Iterable[tuple[str, bool]]) -> int:
    return sum(len(piece.encode()) + LINE_OVERHEAD_BYTES for piece, _ in pieces)


def _pieces(raw: bytes) -> Iterator[str]:
    """Yield the text of a line, split where replacing has made it longer than a line may be; there is always one."""
    text = raw.decode("utf-8", errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    if len(text.encode()) <= MAX_LINE_BYTES:
        yield text
        return
    characters = MAX_LINE_BYTES // 4
    for begin in range(0, len(text), characters):
        yield text[begin : begin + characters]
