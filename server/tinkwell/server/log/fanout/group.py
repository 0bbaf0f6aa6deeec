"""What watchers of one selection share: their live events, put together once however many they are.

Every release that holds something for a selection becomes batches, numbered one after the other. A watcher is a cursor
in them, so an event costs as much for a thousand watchers of the same selection as for one, and watchers that keep up
with each other send the very same bytes::

    batches   7   8   9  10 │ 11           first = 7, following = 11
              ▲           ▲     ▲
            slow        others  has all

A batch that all have taken is dropped. What is kept is bounded: at the bound the oldest batch goes, and whoever has not
taken it is behind and reads on by itself.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.ring import Entry

# A response stays far below the 16 MiB that clients accept, and small against what the transport buffers anyway.
MAX_COUNT = 1_000
MAX_BYTES = 1 << 20

Respond = Callable[[Sequence[bytes], int, str], bytes]


class Member(Protocol):
    """What a group needs of a watcher."""

    cursor: int
    """The number of the batch that it takes next."""
    position: int
    """Where it reads on once it is behind; the group sets it when the watcher is overtaken."""


M = TypeVar("M", bound=Member)


class Batch:
    """Selected entries in revision order; every selected one up to and including `revision` is here or came before."""

    __slots__ = ("_response", "entries", "remaining", "revision", "size")

    def __init__(self, entries: Sequence[Entry], revision: int, *, size: int) -> None:
        self.entries = entries
        self.revision = revision
        # That of the entries.
        self.size = size
        # How many watchers have not taken it.
        self.remaining = 0
        self._response: bytes | None = None

    def response(self, respond: Respond, history_id: str) -> bytes:
        """Return the batch as a response, encoded at the first call for all watchers; they are of one history."""
        if self._response is None:
            self._response = respond([entry.encoded for entry in self.entries], self.revision, history_id)
        return self._response


class Group(Generic[M]):
    """The live watchers of one selection, and the batches that some of them have not taken."""

    def __init__(self, selection: Selection, *, limit_bytes: int) -> None:
        self.selection = selection
        self.members: set[M] = set()
        # Published and not yet made a batch, and how much it is.
        self.pending: list[Entry] = []
        self.pending_bytes = 0
        # The number of the batch that comes next.
        self.following = 0
        self._limit = limit_bytes
        self._bytes = 0
        self._batches: deque[Batch] = deque()

    @property
    def first(self) -> int:
        """The number of the oldest batch that is kept."""
        return self.following - len(self._batches)

    def add(self, entry: Entry) -> None:
        """Put aside what was published."""
        self.pending.append(entry)
        self.pending_bytes += entry.size

    def flush(self, revision: int) -> list[M]:
        """Make batches of what is pending, which is all up to the revision; return who falls behind by that."""
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
                    # Nothing lies between what it has taken and the first event of what it has not.
                    member.position = max(member.position, oldest.entries[0].event.revision)
                    overtaken.append(member)
            self._batches.popleft()
            self._bytes -= oldest.size
        return overtaken

    def take(self, cursor: int, *, max_bytes: int) -> list[Batch]:
        """Take batches from the cursor on for one member; at least one if there is any."""
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
        """Take a member out, and return what is kept that it has not taken."""
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
    """Cut entries, all there are up to the revision, into batches that fit a response; `size` is that of them all."""
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
