"""The ring: the latest events, kept in memory for watchers that are a little behind. It is bounded in bytes."""

import bisect
import dataclasses
from collections.abc import Callable, Sequence

from tinkwell.core.event.event import Event
from tinkwell.core.event.selection import Selection


class Entry:
    """An event and its encoding, which is made once for all watchers."""

    __slots__ = ("_encode", "_encoded", "event", "size")

    def __init__(self, event: Event, encode: Callable[[Event], bytes]) -> None:
        self.event = event
        # The event is in memory twice: as an object and encoded.
        self.size = 2 * event.memory_bytes
        self._encode = encode
        self._encoded: bytes | None = None

    @property
    def encoded(self) -> bytes:
        """The event as one field of a response."""
        if self._encoded is None:
            self._encoded = self._encode(self.event)
        return self._encoded


@dataclasses.dataclass(frozen=True, slots=True)
class Excerpt:
    """Selected entries in revision order: all from where the excerpt begins, up to and including `revision`."""

    entries: Sequence[Entry]
    revision: int


class Ring:
    """The released events from revision `first` to `last`. If they are too large, the oldest are dropped first."""

    def __init__(self, *, last: int, limit_bytes: int) -> None:
        self.first = last + 1
        self.last = last
        self._limit = limit_bytes
        self._bytes = 0
        # Entries before the head are dropped. The lists are cut now and then only, since that moves all other entries.
        self._entries: list[Entry | None] = []
        self._revisions: list[int] = []
        self._head = 0

    def extend(self, entries: Sequence[Entry], *, last: int) -> None:
        """Add released entries. `last` is the revision up to which all events have been released."""
        for entry in entries:
            self._entries.append(entry)
            self._revisions.append(entry.event.revision)
            self._bytes += entry.size
        self.last = last
        while self._bytes > self._limit and self._head < len(self._entries):
            self._give_up_oldest()
        if self._head > 1024 and self._head * 2 > len(self._entries):
            del self._entries[: self._head], self._revisions[: self._head]
            self._head = 0

    def read(self, first: int, selection: Selection, *, max_scanned: int, max_count: int, max_bytes: int) -> Excerpt:
        """Return selected entries from revision `first` on, up to the limits. The ring must still hold `first`."""
        assert first >= self.first
        start = bisect.bisect_left(self._revisions, first, lo=self._head)
        found: list[Entry] = []
        size = 0
        for index in range(start, len(self._entries)):
            entry = self._entries[index]
            assert entry is not None
            if index - start >= max_scanned or len(found) >= max_count or (found and size + entry.size > max_bytes):
                return Excerpt(found, self._revisions[index] - 1)
            if selection.matches(entry.event):
                found.append(entry)
                size += entry.size
        return Excerpt(found, self.last)

    def _give_up_oldest(self) -> None:
        entry = self._entries[self._head]
        assert entry is not None
        self._entries[self._head] = None
        self._head += 1
        self._bytes -= entry.size
        self.first = entry.event.revision + 1
