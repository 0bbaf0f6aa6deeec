"""Names to each agent the units of its that may have something due.

    the log ──▶ hear ──▶ touched ──▶ look (one statement for all streams) ──▶ stream: set of ids ──▶ agent
    each round ─────────▶ units whose lease is over ─────────────────┘

A stream holds ids of units, each once, its own and those that are gone, so that its agent may be as slow as it likes.
What an agent does not read is not lost, for all units are named to who connects again. Where events may have been
missed, all units are named as well, with those that were named before and are there no more.
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
# An agent has one, and for a moment another one after a lost connection; nobody is to keep others out.
MAX_STREAMS_EACH_LEASE = 20
MAX_BATCH = 1_000


@dataclasses.dataclass(slots=True, eq=False)
class _Stream:
    """An agent that listens, what it serves, which units it knows of, and what it is to be told."""

    serving: Serving
    known: set[str] = dataclasses.field(default_factory=set)
    due: dict[str, None] = dataclasses.field(default_factory=dict)
    woken: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    def add(self, found: Collection[Found]) -> None:
        """Take those of some units that the agent serves."""
        mine = [each.unit_id for each in found if self.serving.has(each)]
        if mine:
            self.known.update(mine)
            self.due.update(dict.fromkeys(mine))
            self.woken.set()

    def add_gone(self, unit_ids: Collection[str]) -> None:
        """Take units that are no more, whoever has served them."""
        self.known.difference_update(unit_ids)
        self.due.update(dict.fromkeys(unit_ids))
        self.woken.set()

    def take(self) -> list[str]:
        """Return what is due, oldest first, at most what one message may hold."""
        taken = list(self.due)[:MAX_BATCH]
        for unit_id in taken:
            del self.due[unit_id]
        if not self.due:
            self.woken.clear()
        return taken


class Wakes:
    """WatchUnits. `run` names units for as long as the server lives; `hear` is told of the events of the log."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._streams: set[_Stream] = set()
        self._touched = Touched()
        self._has_heard = asyncio.Event()
        # Set for good once an agent has listened: a server without any need not hear of units.
        self._is_wanted = asyncio.Event()
        self._names_all = False
        self._is_closed = False

    @property
    def count(self) -> int:
        """How many agents listen."""
        return len(self._streams)

    async def until_wanted(self) -> None:
        """Wait until the first agent listens."""
        await self._is_wanted.wait()

    def close(self) -> None:
        """End every stream, and each that comes."""
        self._is_closed = True
        for stream in self._streams:
            stream.woken.set()

    def hear(
        self, resource_type: ResourceType, event_type: EventType, *, resource_id: str, parent_id: str, data: str
    ) -> None:
        """Take an event of the log, of those that `touched.SELECTION` selects."""
        if not self._streams:
            return
        self._touched.hear(resource_type, event_type, resource_id=resource_id, parent_id=parent_id, data=data)
        if not self._touched.is_empty:
            self._has_heard.set()

    def name_all(self) -> None:
        """Name all units: events may have been missed."""
        if self._streams:
            self._names_all = True
            self._has_heard.set()

    async def run(self) -> None:
        """Look for the units that are touched, until cancelled; raises what goes wrong, and is run again after that.

        Nothing is lost by an error: all units are named then.
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
        """Name units whose agent's lease is over, since others may take them."""
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
        """Yield ids of units that may have something due: all that the agent serves at first, and then as it comes.

        With each batch it is said whether it is the last of the first ones.

        Raises `errors.LimitReached`, and `errors.Unavailable` when the server stops.
        """
        with self._listening(serving) as stream:
            # After it listens, so that nothing is missed in between.
            found = await wake.served(self._database.fetch, serving)
            ids = [each.unit_id for each in found]
            stream.known.update(ids)
            # It may be empty, for an agent that has no units.
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
