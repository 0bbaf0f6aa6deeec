"""Tells each agent which of its units may have something due.

    the log ──▶ hear ──▶ touched ──▶ look (one statement for all streams) ──▶ stream: set of ids ──▶ agent
    each round ─────────▶ units whose lease is over ─────────────────┘

A stream holds each id at most once, of the agent's units and of units that are gone, so a slow agent costs little
memory. An agent that has missed ids connects again, and is told of all units. If events of the log may have been
missed, all agents are told of all units, and of the units that have gone since they were last told of them.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Collection, Iterator

from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.server.database.database import Database
from tinkwell.server.unit.service.agent.touched import Touched
from tinkwell.server.unit.store.agent import wake
from tinkwell.server.unit.store.agent.wake import Found, Serving

MAX_STREAMS = 2_000
# An agent has one stream, and for a moment a second one after a lost connection. The limit keeps one agent from taking
# the streams of others.
MAX_STREAMS_EACH_LEASE = 20
MAX_BATCH = 1_000


@dataclasses.dataclass(slots=True, eq=False)
class _Stream:
    """The stream of an agent: what it serves, the units that it was told of, and the units that are due."""

    serving: Serving
    known: set[str] = dataclasses.field(default_factory=set)
    due: dict[str, None] = dataclasses.field(default_factory=dict)
    woken: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    def add(self, found: Collection[Found]) -> None:
        """Add those of the units that the agent serves."""
        mine = [each.unit_id for each in found if self.serving.has(each)]
        if mine:
            self.known.update(mine)
            self.due.update(dict.fromkeys(mine))
            self.woken.set()

    def add_gone(self, unit_ids: Collection[str]) -> None:
        """Add units that are gone, whichever agent has served them."""
        self.known.difference_update(unit_ids)
        self.due.update(dict.fromkeys(unit_ids))
        self.woken.set()

    def take(self) -> list[str]:
        """Return the due units, oldest first, at most as many as one message may hold."""
        taken = list(self.due)[:MAX_BATCH]
        for unit_id in taken:
            del self.due[unit_id]
        if not self.due:
            self.woken.clear()
        return taken


class Wakes:
    """Implements WatchUnits.

    `run` names units for as long as the server runs; `hear` receives the events of the log.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._streams: set[_Stream] = set()
        self._touched = Touched()
        self._has_heard = asyncio.Event()
        # Set when the first agent listens, and never cleared. A server without agents need not follow the log.
        self._is_wanted = asyncio.Event()
        self._names_all = False
        self._is_closed = False

    @property
    def count(self) -> int:
        """The number of agents that listen."""
        return len(self._streams)

    async def until_wanted(self) -> None:
        """Wait until the first agent listens."""
        await self._is_wanted.wait()

    def close(self) -> None:
        """End every stream, and refuse new ones."""
        self._is_closed = True
        for stream in self._streams:
            stream.woken.set()

    def hear(
        self, resource_type: ResourceType, event_type: EventType, *, resource_id: str, parent_id: str, data: str
    ) -> None:
        """Receive an event of the log that `touched.SELECTION` selects."""
        if not self._streams:
            return
        self._touched.hear(resource_type, event_type, resource_id=resource_id, parent_id=parent_id, data=data)
        if not self._touched.is_empty:
            self._has_heard.set()

    def name_all(self) -> None:
        """Name all units, because events may have been missed."""
        if self._streams:
            self._names_all = True
            self._has_heard.set()

    async def run(self) -> None:
        """Look up the touched units until cancelled.

        An error is raised, and the caller runs this again. No unit is missed then, because all units are named.
        """
        try:
            while True:
                await self._has_heard.wait()
                self._has_heard.clear()
                await self._look()
        except Exception:
            self.name_all()
            raise

    async def name_abandoned(self) -> None:
        """Name units whose agent's lease is over, because other agents may take them."""
        if self._streams:
            self._give(await wake.abandoned(self._database.fetch))

    async def _look(self) -> None:
        names_all, self._names_all = self._names_all, False
        touched, self._touched = self._touched, Touched()
        if names_all:
            for stream in list(self._streams):
                before = frozenset(stream.known)
                found = await wake.served(self._database.fetch, stream.serving)
                stream.add(found)
                stream.add_gone(before.difference(each.unit_id for each in found))
        elif not touched.is_empty:
            self._give(await wake.touched(self._database.fetch, touched.concerned()))
        for stream in self._streams if touched.gone else ():
            stream.add_gone(touched.gone)

    def _give(self, found: Collection[Found]) -> None:
        for stream in self._streams:
            stream.add(found)

    async def watch(self, serving: Serving) -> AsyncGenerator[tuple[list[str], bool], None]:
        """Yield the ids of units that may have something due: first all that the agent serves, then those that change.

        Each batch says whether it is the last of the first ones. Raises `errors.LimitReached`, and `errors.Unavailable`
        when the server stops.
        """
        with self._listening(serving) as stream:
            # Only after the stream is registered, so that no change is missed in between.
            found = await wake.served(self._database.fetch, serving)
            ids = [each.unit_id for each in found]
            stream.known.update(ids)
            # The list may be empty, for an agent without units.
            for start in range(0, max(len(ids), 1), MAX_BATCH):
                yield ids[start : start + MAX_BATCH], start + MAX_BATCH >= len(ids)
            while not self._is_closed:
                await stream.woken.wait()
                if batch := stream.take():
                    yield batch, False
        raise errors.Unavailable("the server is stopping; try again")

    @contextlib.contextmanager
    def _listening(self, serving: Serving) -> Iterator[_Stream]:
        if len(self._streams) >= MAX_STREAMS:
            raise errors.LimitReached(f"{MAX_STREAMS:,} agents listen to this server already; try again")
        if sum(each.serving.lease_id == serving.lease_id for each in self._streams) >= MAX_STREAMS_EACH_LEASE:
            most = MAX_STREAMS_EACH_LEASE
            raise errors.LimitReached(f"the agent of this lease listens {most} times already; end some streams")
        stream = _Stream(serving)
        self._streams.add(stream)
        self._is_wanted.set()
        try:
            yield stream
        finally:
            self._streams.discard(stream)
