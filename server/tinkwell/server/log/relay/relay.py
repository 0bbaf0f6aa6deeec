"""The task that feeds a server's hub where there is a broker, from the database or from the stream.

                  a letter that continues                     nobody publishes,
    ┌───────────┐ what is released          ┌───────────┐     and we are elected   ┌────────────┐
    │ following │◀──────────────────────────│  reading  │─────────────────────────▶│ publishing │
    └───────────┘──────────────────────────▶└───────────┘◀─────────────────────────└────────────┘
                  silence, a break,                           refused, out of reach,
                  or out of reach                             or no longer elected

Reading and publishing, the ordinary reader runs over the database. Following, it does not: nothing is asked of the
database but what watchers need who are far behind. Whichever feeds the hub goes on at `hub.released`, which only grows
and is the one position that both know, so going over either way repeats and skips nothing:

* a letter speaks of a range of revisions of one history. It is taken only if that range continues what is released, and
  only its part above that is published. A letter that is lost, late, repeated or not ours cannot do more than send this
  server back to the database;
* a reader made while the hub is open goes on behind `hub.released`, and settles everything above by its own rule.

The two never run at the same time. A stream in which nothing happens still carries a sign of life every second, so
silence means that nobody publishes, or that the broker is lost.
"""

import asyncio
import contextlib
import dataclasses
import logging
import random
import time
from collections.abc import Callable, Sequence

from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.page import SourceLost, event_of
from tinkwell.core.event.selection import Selection
from tinkwell.core.value import backoff
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.read.count import Counts as ReaderCounts
from tinkwell.server.log.read.reader import Reader
from tinkwell.server.log.relay import envelope
from tinkwell.server.log.relay.broker import Broker, BrokerLost, Election, Feed, Letter, Refused, Session
from tinkwell.server.log.relay.count import Counts, Role
from tinkwell.server.log.relay.publisher import Publisher
from tinkwell.server.log.relay.window import Window
from tinkwell.server.log.source import Source

logger = logging.getLogger(__name__)

_WINDOW_BYTES = 16 << 20
_PAGE_COUNT = 500
_PAGE_BYTES = 8 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Pace:
    """How patient the relay is; all in seconds."""

    # How often an idle stream carries a sign of life.
    alive_seconds: float = 1.0
    # A stream without any for so long has no publisher.
    silence_seconds: float = 3.0
    confirm_seconds: float = 5.0
    # One who follows looks so long for another way to the broker before going back to the database.
    reconnect_seconds: float = 1.0
    connect_seconds: float = 10.0
    first_backoff_seconds: float = 0.1
    longest_backoff_seconds: float = 5.0


class Relay:
    """Feeds a hub until cancelled; takes the place of a `Reader`."""

    def __init__(
        self,
        hub: Hub,
        log: Source,
        broker: Broker,
        election: Election,
        *,
        make_reader: Callable[[], Reader],
        pace: Pace | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub = hub
        self._log = log
        self._broker = broker
        self._election = election
        self._pace = pace or Pace()
        # What all readers together have done, as a `Reader` has it.
        self.counts = ReaderCounts()
        self.relay_counts = Counts()
        self._reading = _Reading(make_reader, self.counts)
        self._window = Window(limit_bytes=_WINDOW_BYTES)
        self._publisher = Publisher(
            hub,
            log,
            self.relay_counts,
            is_fed=lambda: self._reading.is_connected,
            alive_seconds=self._pace.alive_seconds,
            confirm_seconds=self._pace.confirm_seconds,
            clock=clock,
        )
        # The message of the stream that was taken last.
        self._sequence = 0
        self._failures = 0

    @property
    def is_connected(self) -> bool:
        """Whether events reach this server from wherever it takes them."""
        return self.relay_counts.role is Role.FOLLOWING or self._reading.is_connected

    async def run(self) -> None:
        """Feed the hub; what the broker does or does not do never ends it."""
        async with asyncio.TaskGroup() as tasks:
            self._reading.start(tasks)
            await self._hub.opened.wait()
            while True:
                try:
                    await self._relay(tasks)
                except (BrokerLost, TimeoutError) as error:
                    self._failures += 1
                    # One line for each interruption, however long it lasts.
                    level = logging.INFO if self._failures > 1 else logging.WARNING
                    logger.log(level, "the broker is out of reach", extra={"cause": str(error) or "timed out"})
                    if self._failures > 1 or self.relay_counts.role is not Role.FOLLOWING:
                        self._fall_back(tasks, "the broker is out of reach")
                await self._pause()

    async def _pause(self) -> None:
        """Wait before the broker is tried again; the first time it is tried at once."""
        if self._failures > 1:
            first, limit = self._pace.first_backoff_seconds, self._pace.longest_backoff_seconds
            longest = backoff.bound_seconds(self._failures, first=first, limit=limit)
            await asyncio.sleep(random.uniform(0, longest))  # noqa: S311

    async def _relay(self, tasks: asyncio.TaskGroup) -> None:
        is_following = self.relay_counts.role is Role.FOLLOWING
        patience = self._pace.reconnect_seconds if is_following else self._pace.connect_seconds
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(patience):
                session = await stack.enter_async_context(self._broker.session())
            while True:
                self._window.clear()
                after = self._sequence if self.relay_counts.role is Role.FOLLOWING else None
                async with session.feed(after=after) as feed:
                    await self._consume(tasks, feed)
                self._fall_back(tasks, "nobody publishes")
                await self._stand(session)

    async def _consume(self, tasks: asyncio.TaskGroup, feed: Feed) -> None:
        """Take messages until none comes for a while."""
        while (delivery := await feed.next(self._pace.silence_seconds)) is not None:
            self._failures = 0
            self._sequence = delivery.sequence
            if self.relay_counts.role is Role.FOLLOWING:
                if not await self._take(delivery.letter):
                    self._fall_back(tasks, "the stream does not continue")
            elif delivery.letter is not None:
                self._window.add(delivery.letter)
                await self._try_to_join(tasks)

    async def _try_to_join(self, tasks: asyncio.TaskGroup) -> None:
        if not self._may_join():
            return
        # Whatever the reader still publishes before it stops only moves the point from which the stream goes on.
        await self._reading.stop()
        if not self._may_join():
            self._reading.start(tasks)
            return
        self.relay_counts.role = Role.FOLLOWING
        self.relay_counts.joins += 1
        logger.info("events come from the broker", extra={"revision": self._hub.released})
        for letter in self._window.take():
            if not await self._take(letter):
                self._fall_back(tasks, "the stream does not continue")
                return

    def _may_join(self) -> bool:
        # A closed hub is about to begin another history, which is the reader's business.
        return self._hub.is_open and self._window.joins(history_id=self._hub.history_id, released=self._hub.released)

    async def _take(self, letter: Letter | None) -> bool:
        """Publish what the letter adds to what is released; False when it is not known to continue that."""
        if letter is None or letter.history_id != self._hub.history_id or letter.after > self._hub.released:
            return False
        self.relay_counts.consumed_batches += 1
        if letter.through <= self._hub.released:
            return True
        if letter.payload is None:
            return await self._fetch(letter.through)
        try:
            events = envelope.decode(letter)
        except envelope.Malformed as error:
            logger.warning("a message of the stream cannot be read", extra={"cause": str(error)})
            return False
        self._publish(events, through=letter.through)
        return True

    async def _fetch(self, through: int) -> bool:
        """Read from the log what was too large for a message; False when it does not give it."""
        while self._hub.released < through:
            try:
                replay = await self._log.replay(
                    history_id=self._hub.history_id,
                    first=self._hub.released + 1,
                    last=through,
                    selection=Selection(),
                    max_count=_PAGE_COUNT,
                    max_bytes=_PAGE_BYTES,
                )
            except (SourceLost, errors.TinkwellError) as error:
                logger.warning("a large event cannot be read", extra={"cause": str(error)})
                return False
            try:
                events = [event_of(row) for row in replay.rows]
            except ValueError as error:
                # The reader meets it next, and reads no further until this server is upgraded.
                logger.warning("a large event is of a kind unknown here", extra={"cause": str(error)})
                return False
            self._publish(events, through=replay.revision)
        return True

    def _publish(self, events: Sequence[Event], *, through: int) -> None:
        fresh = [event for event in events if event.revision > self._hub.released]
        self._hub.publish(fresh, released=through)
        self.relay_counts.consumed_events += len(fresh)

    def _fall_back(self, tasks: asyncio.TaskGroup, cause: str) -> None:
        """Read the database, if that is not what we do."""
        if self.relay_counts.role is Role.FOLLOWING:
            self.relay_counts.role = Role.READING
            self.relay_counts.fallbacks += 1
            logger.warning("events come from the database", extra={"cause": cause, "revision": self._hub.released})
        self._reading.start(tasks)

    async def _stand(self, session: Session) -> None:
        """Publish if nobody else does, until somebody else does or we cannot."""
        if not self._reading.is_connected:
            return
        published = self.relay_counts.published_batches
        try:
            async with self._election.stand() as leadership:
                if leadership is None:
                    return
                self.relay_counts.elections += 1
                self.relay_counts.role = Role.PUBLISHING
                logger.info("this server publishes the log")
                await self._publisher.lead(session, leadership)
        except SourceLost as error:
            logger.warning("the database does not answer the relay", extra={"cause": str(error)})
        except Refused as error:
            self.relay_counts.refusals += 1
            logger.warning("another server publishes the log, too", extra={"cause": str(error)})
        finally:
            self.relay_counts.role = Role.READING
            if self.relay_counts.published_batches > published:
                self._failures = 0


class _Reading:
    """The ordinary reader, while it runs."""

    def __init__(self, make_reader: Callable[[], Reader], counts: ReaderCounts) -> None:
        self._make_reader = make_reader
        self._counts = counts
        self._reader: Reader | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_connected(self) -> bool:
        return self._reader is not None and self._reader.is_connected

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Let it read; does nothing while it does."""
        if self._task is None:
            self._reader = self._make_reader()
            self._reader.counts = self._counts
            self._task = tasks.create_task(self._reader.run(), name="reader")

    async def stop(self) -> None:
        """Let it read no more; it has published its last when this returns."""
        task, self._task, self._reader = self._task, None, None
        while task is not None and not task.done():
            # More than once: an error while the reader cleans up hides that it was cancelled.
            task.cancel()
            await asyncio.wait({task}, timeout=1.0)
