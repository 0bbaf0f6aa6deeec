"""A large log's oldest partition is dropped while the log is written and watched, and while somebody still uses it."""

import asyncio
import contextlib
import datetime
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import asyncpg

from bench import cluster, process
from bench.context import Context
from bench.load import watch
from bench.replay import log
from bench.result import Outcome, Table, Verdict, number
from bench.retention import disk
from tinkwell.core.event.retention import WIDTH, Policy
from tinkwell.server.log.store import partition

_WRITERS, _WATCHERS = 8, 10
_PAUSE_SECONDS = 0.02
_LOOK_SECONDS = 0.002
# The last user keeps a transaction open on the log for so long while the partition is being dropped.
_HELD_SECONDS = 1.0
_WAITING = """
    SELECT extract(epoch FROM max(clock_timestamp() - waitstart))::float8 FROM pg_locks
     WHERE NOT granted AND waitstart IS NOT NULL AND mode IN ('RowExclusiveLock', 'AccessShareLock')
"""
_COMPARES = """\
A log of {events:,} events, {oldest:,} of them in its oldest partition, which is as large as a partition gets.
Meanwhile {writers} writers have a commit every {pause:.0f} ms or so, and {watchers} watchers watch. The oldest
partition is forgotten, detached and dropped while a transaction that has used the log is still open; once that
has ended, the clock runs. Whoever waits for a lock meanwhile is looked for every {look:.0f} ms. The disk's own share
of a slow commit is shown by a file's flushes while a bare one, as large as the partition, is deleted: with discard
(see the file system above), the disk discards its blocks before it flushes anything else.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds: dropping once the last user was gone, the longest wait for a lock, the slowest commits and flush."""

    dropped: float
    waited: float
    slowest_before: float
    slowest_during: float
    slowest_flush: float
    megabytes: float
    events: int


async def run(context: Context) -> Outcome:
    """Measure."""
    events = context.scale.choose(quick=20_000, full=5_000_000)
    async with (
        context.cluster.database() as url,
        process.generator("bench.load.steady", directory=context.directory) as writers,
        process.generator("bench.load.watcher", directory=context.directory) as watcher,
    ):
        await log.fill(url, events)
        # What is old enough to be forgotten has been on the disk for long, and is not being written back meanwhile.
        await cluster.execute(url, "CHECKPOINT")
        context.say(f"retention: {events:,} events are in the log")
        # The server leaves the partitions to us.
        settings = context.directory / "retention.toml"
        settings.write_text("retention_interval_seconds = 0\n")
        async with process.server(url, f"--config={settings}", directory=context.directory) as server:
            sample = await _sample(context, url, server.address, writers, watcher, events)
    context.say(f"retention: dropped within {number(sample.dropped)} s")
    return _outcome(sample)


async def _sample(
    context: Context, url: str, address: str, writers: process.Generator, watcher: process.Generator, events: int
) -> Sample:
    async with partition.session(url) as session:
        if not await session.lock():
            raise process.Failed("somebody else looks after the partitions")
        shelf = await session.look(Policy(datetime.timedelta(days=1), 1))
        oldest = shelf.partitions[0]
        size = await cluster.fetch_value(url, f"SELECT pg_total_relation_size('{oldest.name}')")
        assert isinstance(size, int)
        await session.close(oldest)
        await watch.begin(watcher, address, watchers=_WATCHERS)
        await writers.ask(url=url, writers=_WRITERS, pause_seconds=_PAUSE_SECONDS)
        await asyncio.sleep(2)
        before = await writers.ask(do="take")
        async with _waits(url) as waits:
            await session.settle()
            await session.forget(oldest)
            async with _user(url) as leave:
                dropping = asyncio.ensure_future(session.discard(oldest.name))
                await asyncio.sleep(_HELD_SECONDS)
                await leave()
                began = time.perf_counter()
                await dropping
                dropped = time.perf_counter() - began
            during = await writers.ask(do="take")
            await asyncio.sleep(1)
        after = await writers.ask(do="stop")
        written = before["commits"] + during["commits"] + after["commits"]
        await watch.catch_up(watcher, written * _WATCHERS)
    slowest = max(during["slowest"], after["slowest"])
    flush = await asyncio.to_thread(disk.slowest_flush, context.directory, size)
    return Sample(dropped, waits.longest_seconds, before["slowest"], slowest, flush, size / 1e6, events)


@contextlib.asynccontextmanager
async def _user(url: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Keep a transaction open that has used the log; yields what ends it."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("BEGIN")
        await connection.execute("INSERT INTO template (id, name, data) VALUES (gen_random_uuid(), 'user', '-')")
        await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")

        async def leave() -> None:
            await connection.execute("ROLLBACK")

        yield leave
    finally:
        await connection.close()


class Waits:
    """The longest wait for a lock that was seen."""

    def __init__(self) -> None:
        self.longest_seconds = 0.0

    async def look(self, connection: asyncpg.Connection) -> None:
        """Look again and again until cancelled."""
        while True:
            waiting = await connection.fetchval(_WAITING)
            self.longest_seconds = max(self.longest_seconds, waiting or 0.0)
            await asyncio.sleep(_LOOK_SECONDS)


@contextlib.asynccontextmanager
async def _waits(url: str) -> AsyncIterator[Waits]:
    waits = Waits()
    connection = await asyncpg.connect(url)
    looking = asyncio.ensure_future(waits.look(connection))
    try:
        yield waits
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        connection.terminate()


def _outcome(sample: Sample) -> Outcome:
    rows = (
        ("the partition was dropped, once its last user was gone", number(sample.dropped * 1000)),
        ("longest wait of a reader or writer for a lock", number(sample.waited * 1000)),
        ("slowest commit in the two seconds before", number(sample.slowest_before * 1000)),
        (
            "slowest commit while the partition was dropped, and in the second after",
            number(sample.slowest_during * 1000),
        ),
        (
            f"slowest flush of a file while one of {sample.megabytes:,.0f} MB was deleted, and in the second after",
            number(sample.slowest_flush * 1000),
        ),
    )
    return Outcome(
        title="Retention",
        compares=_COMPARES.format(
            events=sample.events,
            oldest=min(sample.events, WIDTH - 1),
            writers=_WRITERS,
            watchers=_WATCHERS,
            pause=_PAUSE_SECONDS * 1000,
            look=_LOOK_SECONDS * 1000,
        ),
        tables=(Table(f"{sample.events:,} events", ("", "ms"), rows),),
        verdicts=(
            Verdict(
                "seconds to drop the oldest partition once its last user is gone", sample.dropped, "≤", 1, unit="s"
            ),
            Verdict("longest wait of a writer for it", sample.waited * 1000, "≤", 50, unit="ms"),
            Verdict("slowest commit meanwhile", sample.slowest_during * 1000, "≤", 50, unit="ms"),
        ),
        notes=("One sample, since it takes millions of events to make. All watchers received all events.",),
    )
