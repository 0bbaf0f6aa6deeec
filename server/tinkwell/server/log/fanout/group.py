"""A group: all live watchers of one selection, and the batches of events that they share.

When events are released, those that match the selection become batches, which are numbered in order. Each watcher has a
cursor: the number of the batch that it takes next. So an event is selected and encoded once, no matter how many
watchers have the same selection, and all of them send the same bytes::

    batches   7   8   9  10 │ 11           first = 7, following = 11
              ▲           ▲     ▲
            slow        others  has all

A batch that all watchers have taken is dropped. The kept batches are bounded in bytes: beyond the bound the oldest one
is dropped, and a watcher that has not taken it falls behind and reads on by itself.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.ring import Entry

# Limits of a batch. A response stays far below the 16 MiB that clients accept, and below what the transport buffers.
MAX_COUNT = 1_000
MAX_BYTES = 1 << 20

Respond = Callable[[Sequence[bytes], int, str], bytes]


class Member(Protocol):
    """A watcher, as its group sees it."""

    cursor: int
    """The number of the batch that it takes next."""
    position: int
    """The revision from which it reads on when it has fallen behind; the group sets it then."""


M = TypeVar("M", bound=Member)


class Batch:
    """Selected entries in revision order. `size` is their bytes together.

    Every selected entry up to and including `revision` is in this batch or in an earlier one.
    """

    __slots__ = ("_response", "entries", "remaining", "revision", "size")

    def __init__(self, entries: Sequence[Entry], revision: int, *, size: int) -> None:
        self.entries = entries
        self.revision = revision
        self.size = size
        # The number of watchers that have not taken the batch.
        self.remaining = 0
        self._response: bytes | None = None

    def response(self, respond: Respond, history_id: str) -> bytes:
        """Return the batch as a response. The first call encodes it for all watchers, which have the same history."""
        if self._response is None:
            self._response = respond([entry.encoded for entry in self.entries], self.revision, history_id)
        return self._response


class Group(Generic[M]):
    """The live watchers of one selection, and the batches that some of them have not taken."""

    def __init__(self, selection: Selection, *, limit_bytes: int) -> None:
        self.selection = selection
        self.members: set[M] = set()
        # The published entries that are not in a batch yet, and their size.
        self.pending: list[Entry] = []
        self.pending_bytes = 0
        # The number of the next batch.
        self.following = 0
        self._limit = limit_bytes
        self._bytes = 0
        self._batches: deque[Batch] = deque()

    @property
    def first(self) -> int:
        """The number of the oldest batch that is kept."""
        return self.following - len(self._batches)

    def add(self, entry: Entry) -> None:
        """Add a published entry to the pending ones."""
        self.pending.append(entry)
        self.pending_bytes += entry.size

    def flush(self, revision: int) -> list[M]:
        """Make batches of the pending entries, and return the members that fall behind because old batches are dropped.

        The pending entries are all selected ones up to the revision that are in no batch yet.
        """
        pending, self.pending = self.pending, []
        size, self.pending_bytes = self.pending_bytes, 0
        for batch in _cut(pending, revision, size=size):
            batch.remaining = len(self.members)
            self._batches.append(batch)
            self._bytes += batch.size
            self.following += 1
        overtaken: list[M] = []
        while self._bytes > self._limit and len(self._batches) > 1:
            oldest = self._batches[0]
            for member in self.members:
                if member.cursor == self.first:
                    # The member has everything before the first event of the batch that it has not taken.
                    member.position = max(member.position, oldest.entries[0].event.revision)
                    overtaken.append(member)
            self._batches.popleft()
            self._bytes -= oldest.size
        return overtaken

    def take(self, cursor: int, *, max_bytes: int) -> list[Batch]:
        """Take the batches from the cursor on for one member, up to `max_bytes` but at least one if there is any."""
        taken: list[Batch] = []
        size = 0
        for index in range(cursor - self.first, len(self._batches)):
            batch = self._batches[index]
            if taken and size + batch.size > max_bytes:
                break
            size += batch.size
            batch.remaining -= 1
            taken.append(batch)
        self._drop_taken()
        return taken

    def leave(self, member: M) -> list[Batch]:
        """Remove a member, and return the kept batches that it has not taken."""
        self.members.discard(member)
        rest = [self._batches[index] for index in range(max(member.cursor - self.first, 0), len(self._batches))]
        for batch in rest:
            batch.remaining -= 1
        self._drop_taken()
        return rest

    def _drop_taken(self) -> None:
        while self._batches and not self._batches[0].remaining:
            self._bytes -= self._batches.popleft().size


def _cut(entries: Sequence[Entry], revision: int, *, size: int) -> Iterable[Batch]:
    """Cut all entries up to the revision into batches that fit a response; `size` is the size of all entries."""
    if not entries:
        return ()
    if len(entries) <= MAX_COUNT and size <= MAX_BYTES:
        return (Batch(entries, revision, size=size),)
    return _pieces(entries, revision)


def _pieces(entries: Sequence[Entry], revision: int) -> Iterator[Batch]:
    begin = size = 0
    for index, entry in enumerate(entries):
        if index > begin and (index - begin >= MAX_COUNT or size + entry.size > MAX_BYTES):
            yield Batch(entries[begin:index], entry.event.revision - 1, size=size)
            begin, size = index, 0
        size += entry.size
    yield Batch(entries[begin:], revision, size=size)
