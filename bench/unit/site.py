"""A server with a client, agents in processes of their own, and counts of the events that units were told."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg

import tinkwell.client
from bench import process, usage
from bench.context import Context
from tinkwell.charm import Charm, Profile, description

LONGEST_SECONDS = 1_200
_LOOK_SECONDS = 0.05
# No update-status comes in between.
_TICK_SECONDS = 3_600
# More would only wait for each other.
_CALLS = 16
_AT_ONCE = 50
# On a loaded machine calls about a thousand units take long.
_CALL_SECONDS = 300
_STARTED = "SELECT count(*) = $1 FROM unit WHERE is_started"
# An event has the next ordinal of its unit, whose oldest events are forgotten after a while.
_TOLD = """
    SELECT (SELECT sum(last_ordinal)::bigint FROM unit)
           - (SELECT count(*) FROM unit_event WHERE state = 'RUNNING') AS events
"""
_ENDED = """
    SELECT extract(epoch FROM max(finished_at))::float8 AS at, max(attempt) AS attempts,
           bool_and(state = 'COMMITTED') AS is_good
      FROM unit_event
     WHERE finished_at >= to_timestamp($1)
"""
_KINDS = """
    SELECT string_agg(concat_ws(' ', n, kind, state, attempt), ', ')
      FROM (SELECT kind, state, attempt, count(*) AS n
              FROM unit_event WHERE created_at >= to_timestamp($1) GROUP BY kind, state, attempt) AS counted
"""


@dataclass(frozen=True, slots=True)
class Told:
    """Events that were committed, from the moment at which something began to the last one's commit."""

    events: int
    seconds: float
    cores: Mapping[str, float]

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds

    @property
    def milliseconds(self) -> dict[str, float]:
        """Processor time for each event by part."""
        return {part: cores * self.seconds / self.events * 1000 for part, cores in self.cores.items()}


class Site:
    """A server over a fresh database."""

    def __init__(
        self,
        context: Context,
        url: str,
        server: process.Server,
        client: tinkwell.client.Client,
        sql: asyncpg.Connection,
    ) -> None:
        self._context = context
        self.url = url
        self.server = server
        self.client = client
        self.sql = sql

    def processes(self, agent: process.Program) -> dict[str, int]:
        """Return the ids of all processes that take part in events."""
        return {"PostgreSQL": self._context.cluster.pid, "server": self.server.pid, "agent": agent.pid}

    @contextlib.asynccontextmanager
    async def agent(
        self, charm: type[Charm], *, name: str = "agent", machines: Iterable[str] = ()
    ) -> AsyncIterator[process.Program]:
        """Run an agent that has a lease, which the block may kill; one of the same name takes over what it had."""
        # Each database has a name of its own.
        place = self._context.directory / f"{self.url.rpartition('/')[2]}-{name}"
        command = (sys.executable, "-m", "bench.unit.agent", self.server.address, str(place), charm.__name__, *machines)
        async with process.program(*command, log=self._context.directory / f"{name}.log") as running:
            await running.line("a lease is acquired")
            yield running

    async def deploy(
        self, charm: type[Charm], applications: Mapping[str, int], *, profile: Profile = Profile.LITERAL
    ) -> None:
        """Make applications of so many units each, which any agent serves, and wait until all have started."""
        packed, calls = description.pack(charm), self.client.applications
        await _together([calls.deploy(name, packed, anywhere=True, profile=profile) for name in applications])
        for name, units in applications.items():
            # A call is a transaction, which is to end in time on a loaded machine, too.
            for first in range(1, units, _AT_ONCE):
                await calls.add_units(name, min(_AT_ONCE, units - first), anywhere=True)
        # To look at all units again and again would take longer than what they have to do.
        await self.until(_STARTED, sum(applications.values()))
        await self.settled(*applications)

    async def until(self, query: str, *arguments: object) -> float:
        """Wait until a query returns something that is neither false nor null, and return it. Raises `TimeoutError`."""
        async with asyncio.timeout(LONGEST_SECONDS):
            while True:
                if found := await self.sql.fetchval(query, *arguments):
                    return float(found)
                await asyncio.sleep(_LOOK_SECONDS)

    async def place(self, charm: type[Charm], application: str, machines: Iterable[str]) -> None:
        """Make an application with a unit on each machine."""
        wanted = tuple(machines)
        for machine in wanted:
            await self.client.hardware.push({"id": machine})
        packed = description.pack(charm)
        await self.client.applications.deploy(application, packed, units=len(wanted), machines=wanted)

    async def relate(self, *pairs: tuple[str, str]) -> None:
        """Relate applications by what the first one gives and the second one takes."""
        relate = self.client.applications.relate
        await _together([relate(f"{giver}:gives", f"{taker}:takes") for giver, taker in pairs])

    async def configure(self, configurations: Mapping[str, Mapping[str, object]]) -> None:
        """Set options of applications."""
        set_config = self.client.applications.set_config
        await _together([set_config(application, config) for application, config in configurations.items()])

    async def settled(self, *applications: str) -> None:
        """Wait until nothing is due for any unit of applications; raises `TimeoutError`."""
        await self.client.applications.settled(*applications, timeout_seconds=LONGEST_SECONDS)

    async def told(self, pids: Mapping[str, int], begin: Callable[[], Awaitable[None]], expected: int) -> Told:
        """Begin something, and wait until so many events have come of it, each once.

        Raises `process.Failed` for more events, and for one that was attempted again.
        """
        before = await self.sql.fetchval(_TOLD)
        meter, began = usage.Meter(pids), time.time()
        await begin()
        async with asyncio.timeout(LONGEST_SECONDS):
            events = 0
            while events < expected:
                await asyncio.sleep(_LOOK_SECONDS)
                events = await self.sql.fetchval(_TOLD) - before
        cores = meter.read()
        ended = await self.sql.fetchrow(_ENDED, began)
        if events != expected or ended["attempts"] != 1 or not ended["is_good"]:
            raise process.Failed(f"for {expected} events there were {await self.sql.fetchval(_KINDS, began)}")
        return Told(expected, ended["at"] - began, cores)


async def _together(calls: Iterable[Awaitable[Any]]) -> None:
    """Make calls, some at a time."""
    limit = asyncio.Semaphore(_CALLS)

    async def make(call: Awaitable[Any]) -> None:
        async with limit:
            await call

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(make(call))


@contextlib.asynccontextmanager
async def opened(context: Context, *, settings: Mapping[str, str] | None = None) -> AsyncIterator[Site]:
    """Run a server until the block ends; `settings` are variables of its environment."""
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(context.cluster.database())
        server = await stack.enter_async_context(process.server(url, directory=context.directory, settings=settings))
        client = await stack.enter_async_context(tinkwell.client.connect(server.address, timeout_seconds=_CALL_SECONDS))
        sql = await asyncpg.connect(url)
        stack.push_async_callback(sql.close)
        await client.namespaces.set(update_status_seconds=_TICK_SECONDS)
        yield Site(context, url, server, client, sql)
