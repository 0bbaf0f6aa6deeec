"""What runs of every kind of chaos do alike: run everything, watch it, let it settle, and collect complaints."""

import asyncio
import contextlib
import itertools
import logging
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NoReturn, Protocol

from support.chaos.deck import K
from support.chaos.server import Server
from support.chaos.worker import Site, Worker
from support.history.record import Violation
from support.waiting import eventually

_STANDSTILL_SECONDS = 120
_LEFTOVER_SECONDS = 60
_PROGRESS_SECONDS = 30

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Result(Generic[K]):
    """What was found, how often each kind of fault was injected, and both told for people."""

    violations: Sequence[Violation]
    injected: Counter[K]
    text: str


class Service(Protocol):
    """What is kept running."""

    @property
    def name(self) -> str: ...

    async def run(self) -> object:
        """Run until cancelled."""


@contextlib.asynccontextmanager
async def running(services: Sequence[Service]) -> AsyncIterator[None]:
    """Keep all of them running until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        begun = [tasks.create_task(service.run(), name=service.name) for service in services]
        try:
            yield
        finally:
            for task in begun:
                task.cancel()


@contextlib.asynccontextmanager
async def serving(
    directory: Path, database_url: str, *, lease_seconds: float, more: Mapping[str, str] | None = None
) -> AsyncIterator[list[Server]]:
    """Run two servers that give leases of this length, with `more` variables if any."""
    settings = {"TINKWELL_LEASE_SECONDS": str(lease_seconds), **(more or {})}
    servers = [Server(name, directory, database_url, settings=settings) for name in ("one", "two")]
    async with running(servers):
        for server in servers:
            await server.ready.wait()
        yield servers


@contextlib.asynccontextmanager
async def working(sites: Sequence[Site]) -> AsyncIterator[None]:
    """Run the workers of all machines, and kill in the end what they have left running."""
    try:
        async with running(workers_of(sites)):
            yield
    finally:
        for site in sites:
            site.kill_runs()


def workers_of(sites: Sequence[Site]) -> list[Worker]:
    """Return the workers of all machines."""
    return [worker for site in sites for worker in site.workers]


def known_servers(servers: Sequence[Server], chance: random.Random) -> tuple[str, str]:
    """Return the option of a worker that knows one server, or both."""
    known = chance.sample(servers, chance.randint(1, len(servers)))
    return "--server", ",".join(server.address for server in known)


class Observer:
    """Measures servers, and tells from time to time how far a run is."""

    name = "observer"

    def __init__(self, servers: Sequence[Server], progress: Callable[[], str]) -> None:
        self._servers = servers
        self._progress = progress

    async def run(self) -> NoReturn:
        """Observe until cancelled."""
        for second in itertools.count():
            for server in self._servers:
                server.measure()
            if second % _PROGRESS_SECONDS == 0:
                logger.info("after %d s: %s", second, self._progress())
            await asyncio.sleep(1)
        raise AssertionError("seconds never end")


async def calm_down(
    count_unfinished: Callable[[], Awaitable[int]], leftovers: Callable[[], Awaitable[Sequence[str]]]
) -> bool:
    """Wait until everything has ended and nothing is left of it; False when nothing moves any more."""
    try:
        await _all_ended(count_unfinished)
        logger.info("everything has ended")

        async def is_quiet() -> bool:
            return not await leftovers()

        await eventually(is_quiet, deadline_seconds=_LEFTOVER_SECONDS, interval_seconds=0.25)
    except TimeoutError:
        return False
    logger.info("nothing is left of it")
    return True


async def _all_ended(count_unfinished: Callable[[], Awaitable[int]]) -> None:
    before = await count_unfinished()
    while before:
        unfinished = before

        async def is_fewer() -> bool:
            return await count_unfinished() < unfinished  # noqa: B023  (ends in this turn)

        await eventually(is_fewer, deadline_seconds=_STANDSTILL_SECONDS, interval_seconds=0.25)
        before = await count_unfinished()


def complaints(
    servers: Sequence[Server], sites: Sequence[Site], author: Sequence[str], shortfalls: Sequence[str]
) -> list[Violation]:
    """What nobody's records show: processes that ended badly, calls that were answered with a fault, and faults that
    did not happen.
    """
    found = [(server.name, text) for server in servers for text in server.complaints]
    found += [(worker.name, text) for worker in workers_of(sites) for text in worker.complaints]
    found += [("chaos", text) for text in shortfalls]
    found += [("author", text) for text in author]
    return [Violation("P1", who, text) for who, text in found]
