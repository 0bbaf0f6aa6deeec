"""A broker and a database in memory, with switches for what can go wrong, and servers that relay between them."""

import asyncio
import contextlib
import dataclasses
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from typing import cast

from support.log_event import make_event
from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.holder import Holder
from tinkwell.core.event.page import History, Page, Replay, SourceLost, row_of
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.pacing import Spread
from tinkwell.server.log.read.reader import Reader
from tinkwell.server.log.relay.broker import BrokerLost, Delivery, Letter, Refused
from tinkwell.server.log.relay.count import Role
from tinkwell.server.log.relay.relay import Relay
from tinkwell.server.log.source import Source

PAYLOAD_BYTES = 2_000
MAX_SUBSCRIBERS = 10


class Broker:
    """A stream. The message of sequence n is at n - 1; those below `first` are no longer kept."""

    def __init__(self) -> None:
        self.messages: list[Letter | None] = []
        self.first = 1
        self.is_away = False
        self.lost_acknowledgements = 0
        self.generation = 0
        self._changed = asyncio.Event()

    def append(self, letter: Letter | None) -> int:
        """Store a message, whoever it is from."""
        self.messages.append(letter)
        self.wake()
        return len(self.messages)

    def forget(self, count: int) -> None:
        """Keep no more than that many messages."""
        self.first = max(self.first, len(self.messages) + 1 - count)

    def cut(self) -> None:
        """Lose every session, and let new ones be opened."""
        self.generation += 1
        self.wake()

    def wake(self) -> None:
        """Let those who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def check(self, generation: int) -> None:
        """Raise `BrokerLost` while it is away, and for sessions that were cut."""
        if self.is_away or generation != self.generation:
            raise BrokerLost("away")

    async def wait(self) -> None:
        """Wait until something changes."""
        await self._changed.wait()

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator["BrokerSession"]:
        self.check(self.generation)
        yield BrokerSession(self)


class BrokerSession:
    payload_bytes = PAYLOAD_BYTES

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._generation = broker.generation

    async def last(self) -> Delivery:
        self._broker.check(self._generation)
        sequence = len(self._broker.messages)
        return Delivery(sequence, self._broker.messages[-1] if sequence >= self._broker.first else None)

    async def publish(self, letter: Letter, *, expected: int) -> int:
        await asyncio.sleep(0.0005)
        self._broker.check(self._generation)
        if expected != len(self._broker.messages):
            raise Refused(f"the last message is {len(self._broker.messages)}")
        assert len(letter.payload or b"") <= PAYLOAD_BYTES
        sequence = self._broker.append(letter)
        if self._broker.lost_acknowledgements:
            self._broker.lost_acknowledgements -= 1
            raise BrokerLost("no answer")
        return sequence

    @contextlib.asynccontextmanager
    async def feed(self, *, after: int | None) -> AsyncIterator["BrokerFeed"]:
        self._broker.check(self._generation)
        yield BrokerFeed(self._broker, self._generation, len(self._broker.messages) if after is None else after)


class BrokerFeed:
    def __init__(self, broker: Broker, generation: int, after: int) -> None:
        self._broker = broker
        self._generation = generation
        self._next = after + 1

    async def next(self, timeout_seconds: float) -> Delivery | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                while True:
                    self._broker.check(self._generation)
                    self._next = max(self._next, self._broker.first)
                    if self._next <= len(self._broker.messages):
                        self._next += 1
                        return Delivery(self._next - 1, self._broker.messages[self._next - 2])
                    await self._broker.wait()
        return None


class Database:
    """A log that any number of readers follow, and the election's lock."""

    def __init__(self) -> None:
        self.history_id = "h1"
        self.histories: dict[str, list[Event]] = {"h1": []}
        self.oldest = 1
        self.is_away = False
        # Everybody is elected, as if no lock kept them from it.
        self.elects_all = False
        self.pages = 0
        self._owner: Leadership | None = None
        self._rings: set[asyncio.Event] = set()

    @property
    def events(self) -> list[Event]:
        return self.histories[self.history_id]

    @property
    def last(self) -> int:
        return self.events[-1].revision if self.events else 0

    def commit(self, *, size: int = 0, skipped: int = 0) -> None:
        """Add an event, which tells its history; skipped revisions were rolled back."""
        self.events.append(make_event(self.last + 1 + skipped, data=self.history_id + "x" * size))
        self.ring()

    def begin_history(self) -> None:
        """Become another log, which lacks the latest event."""
        events = self.events[:-1]
        self.history_id += "'"
        self.histories[self.history_id] = events
        self.ring()

    def ring(self) -> None:
        for rung in self._rings:
            rung.set()

    def check(self) -> None:
        if self.is_away:
            raise SourceLost("away")

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator["LogSession"]:
        self.check()
        rung = asyncio.Event()
        self._rings.add(rung)
        try:
            yield LogSession(self, rung)
        finally:
            self._rings.discard(rung)

    async def replay(
        self, *, history_id: str, first: int, last: int, selection: Selection, max_count: int, max_bytes: int
    ) -> Replay:
        self.check()
        await asyncio.sleep(0.001)
        if history_id != self.history_id:
            raise errors.OtherHistory("another one", history_id=self.history_id)
        if first < self.oldest:
            raise errors.Compacted(first, self.oldest)
        rows = [row_of(event) for event in self.events if first <= event.revision <= last]
        # Small pages, so that several are needed.
        return Replay(rows[:3], last if len(rows) <= 3 else rows[2][0])

    async def first_revision_since(self, seconds: float) -> int:
        raise AssertionError("the relay does not ask")

    async def last_drawn(self) -> int:
        raise AssertionError("the relay does not ask")

    async def history(self) -> History:
        raise AssertionError("the relay does not ask")

    @contextlib.asynccontextmanager
    async def stand(self) -> AsyncIterator["Leadership | None"]:
        self.check()
        leadership = Leadership(self)
        if self._owner is not None and not self.elects_all:
            yield None
            return
        self._owner = leadership
        try:
            yield leadership
        finally:
            if self._owner is leadership:
                self._owner = None

    def depose(self) -> None:
        """Give the task to whoever asks next."""
        self._owner = None

    def is_owner(self, leadership: "Leadership") -> bool:
        return not self.is_away and (self._owner is leadership or self.elects_all)


class Leadership:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def confirm(self) -> bool:
        return self._database.is_owner(self)


class LogSession:
    """What a reader sees; it is its own bell."""

    def __init__(self, database: Database, rung: asyncio.Event) -> None:
        self._database = database
        self._rung = rung
        self._history_id = database.history_id
        self.line: Line | None = None

    @property
    def bell(self) -> "LogSession":
        return self

    @property
    def is_rung(self) -> bool:
        return self._rung.is_set()

    def clear(self) -> None:
        self._rung.clear()

    async def request(self) -> bool:
        self._check()
        return True

    async def wait(self, timeout_seconds: float, hear: Callable[[Event], bool]) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                return await self._rung.wait()
        return False

    async def release(self) -> None:
        self._check()

    async def history(self, *, seen: int, known: str) -> History:
        self._check()
        return History(self._database.history_id, self._database.oldest)

    async def verify(
        self, *, known: str, delivered: Sequence[tuple[int, str]], dead: Sequence[tuple[int, int]]
    ) -> bool:
        self._check()
        return True

    async def last_revision(self) -> int:
        self._check()
        return self._database.last

    async def last_drawn(self) -> int:
        self._check()
        return self._database.last

    async def oldest_revision(self) -> int:
        return self._database.oldest

    async def page(self, *, gaps: Sequence[tuple[int, int]], tail: int | None) -> Page:
        await asyncio.sleep(0.0002)
        self._check()
        self._database.pages += 1
        events = [
            event
            for event in self._database.events
            if any(first <= event.revision <= last for first, last in gaps)
            or (tail is not None and event.revision > tail)
        ]
        return Page(events, is_cut=False)

    async def waiting(self) -> int:
        return 0

    async def who(self, transactions: frozenset[str]) -> list[Holder]:
        return []

    async def holders(self) -> frozenset[str]:
        self._check()
        return frozenset()

    def _check(self) -> None:
        # A session does not outlive its database.
        if self._history_id != self._database.history_id:
            raise SourceLost("the database was replaced")
        if self.line is not None and self.line.is_cut:
            raise SourceLost("the line was cut")
        self._database.check()


class Line:
    """The way of one server's reader to the database, which can be cut while all else gets there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_cut = False

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[LogSession]:
        if self.is_cut:
            raise SourceLost("too many clients already")
        async with self._database.session() as session:
            session.line = self
            yield session


class CheckedHub(Hub):
    """Writes down what it is given, and insists that it is in order and never given twice."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(
            encode=lambda event: b"",
            ring_bytes=20_000,
            subscriber_bytes=1 << 20,
            max_subscribers=MAX_SUBSCRIBERS,
            # What is released is not in the batches yet, most of the time.
            spread=Spread(
                call_soon=loop.call_soon,
                call_later=loop.call_later,
                clock=loop.time,
                few_watchers=1,
                watcher_seconds=0.01,
                latest_share=0,
                times=1,
            ),
        )
        self.begins: dict[str, int] = {}
        self.given: dict[str, list[Event]] = {}

    def open(self, *, history_id: str, last: int) -> None:
        super().open(history_id=history_id, last=last)
        self.begins[history_id] = last
        self.given[history_id] = []

    def publish(self, events: Sequence[Event], *, released: int) -> None:
        revisions = [self.released, *(event.revision for event in events), released + 1]
        assert all(before < after for before, after in itertools.pairwise(revisions)), revisions
        self.given[self.history_id].extend(events)
        super().publish(events, released=released)


@dataclasses.dataclass
class Server:
    """One server's hub, fed by a relay."""

    hub: CheckedHub
    relay: Relay
    task: asyncio.Task[None]
    line: Line

    async def stop(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task

    def has_all(self, database: Database) -> bool:
        """Return whether it was given all of the log, from where that begins here, and nothing else."""
        return self.hub.history_id == database.history_id and all(
            given == [event for event in database.histories[history_id] if self._begin(history_id) < event.revision]
            if history_id == database.history_id
            else set(given) <= set(database.histories[history_id])
            for history_id, given in self.hub.given.items()
        )

    def _begin(self, history_id: str) -> int:
        return self.hub.begins[history_id]


def start(database: Database, broker: Broker) -> Server:
    """Start a server in the running loop."""
    clock = asyncio.get_running_loop().time
    hub, line = CheckedHub(), Line(database)
    # A reader opens sessions, and nothing else.
    source = cast("Source", line)
    relay = Relay(hub, database, broker, database, make_reader=lambda: Reader(source, hub, clock=clock), clock=clock)
    return Server(hub, relay, asyncio.create_task(relay.run()), line)


@contextlib.asynccontextmanager
async def running(database: Database, broker: Broker, *, count: int) -> AsyncIterator[list[Server]]:
    """Run servers until the block ends, those included that the block adds to the list."""
    servers = [start(database, broker) for _ in range(count)]
    try:
        yield servers
    finally:
        for server in servers:
            await server.stop()


def roles(servers: Sequence[Server]) -> list[Role]:
    """Return what the servers do, publishers first."""
    return sorted((server.relay.relay_counts.role for server in servers), reverse=True)


def are_settled(servers: Sequence[Server], database: Database) -> bool:
    """Return whether all have everything, one publishes, and the others follow it."""
    expected = [Role.PUBLISHING, *[Role.FOLLOWING] * (len(servers) - 1)]
    return roles(servers) == expected and all(server.has_all(database) for server in servers)


async def until(condition: Callable[[], bool], *, within_seconds: float = 120) -> None:
    """Let virtual time pass until the condition holds."""
    async with asyncio.timeout(within_seconds):
        while not condition():  # noqa: ASYNC110 this is what lets the time pass
            await asyncio.sleep(0.001)
