"""Nothing is lost, repeated or out of order, however writers behave."""

import asyncio
import contextlib
import dataclasses
import random
import uuid
from collections.abc import AsyncIterator

import asyncpg

import tinkwell.client
from support.waiting import eventually

WRITERS = 16
TRANSACTIONS = 10_000
WATCHERS = 10


@dataclasses.dataclass
class Watcher:
    """What one watcher received; it began at `start`, the first revision that it had to receive."""

    start: int
    revisions: list[int] = dataclasses.field(default_factory=list)


@contextlib.asynccontextmanager
async def connect(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    try:
        yield connection
    finally:
        await connection.close(timeout=5)


async def push(connection: asyncpg.Connection) -> None:
    await connection.execute("INSERT INTO hardware (id, metadata) VALUES ($1, '{\"n\": 1}')", uuid.uuid4())


class RolledBack(Exception):
    """Ends a transaction without committing it."""


async def write(database_url: str, seed: int, transactions: int) -> None:
    """A tenth is rolled back, some are held open for 50 ms, a third draws its revisions before the end."""
    chance = random.Random(seed)
    async with connect(database_url) as connection:
        for _ in range(transactions):
            with contextlib.suppress(RolledBack):
                async with connection.transaction():
                    await push(connection)
                    if chance.random() < 1 / 3:
                        await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
                        if chance.random() < 0.02:
                            await asyncio.sleep(0.05)
                    elif chance.random() < 0.01:
                        await asyncio.sleep(0.05)
                    if chance.random() < 0.1:
                        raise RolledBack


async def read_naively(database_url: str, seen: list[int], stop: asyncio.Event) -> None:
    """What everybody writes first: read what lies above the last revision seen."""
    last = 0
    async with connect(database_url) as connection:
        while not stop.is_set():
            for row in await connection.fetch(
                "SELECT revision FROM events WHERE revision > $1 ORDER BY revision", last
            ):
                last = row[0]
                seen.append(last)
            await asyncio.sleep(0.001)


async def watch(address: str, watcher: Watcher) -> None:
    async with tinkwell.client.connect(address) as client:
        async for event in client.events.watch(from_revision=watcher.start):
            watcher.revisions.append(event.revision)


async def test_ten_watchers_receive_every_committed_event_once_and_in_order(
    server_address: str, database_url: str
) -> None:
    watchers: list[Watcher] = []
    naive: list[int] = []
    stop = asyncio.Event()
    async with connect(database_url) as observer, connect(database_url) as sitter:
        sitting = sitter.transaction()
        await sitting.start()
        await push(sitter)
        async with asyncio.TaskGroup() as readers, contextlib.AsyncExitStack() as stack:
            reading = [readers.create_task(read_naively(database_url, naive, stop))]
            stack.callback(lambda: [task.cancel() for task in reading[1:]])
            async with asyncio.TaskGroup() as writers:
                for seed in range(WRITERS):
                    writers.create_task(write(database_url, seed, TRANSACTIONS // WRITERS))
                while len(watchers) < WATCHERS:
                    last = await observer.fetchval("SELECT coalesce(max(revision), 0) FROM events")
                    watchers.append(Watcher(start=random.Random(len(watchers)).randint(1, last + 1)))
                    reading.append(readers.create_task(watch(server_address, watchers[-1])))
                    reached = last + TRANSACTIONS // (2 * WATCHERS)
                    await eventually(
                        lambda: observer.fetchval("SELECT max(revision) >= $1 FROM events", reached),  # noqa: B023
                        deadline_seconds=60,
                    )
            await sitting.commit()
            committed = [row[0] for row in await observer.fetch("SELECT revision FROM events ORDER BY revision")]
            for watcher in watchers:
                expected = [revision for revision in committed if revision >= watcher.start]
                await eventually(lambda: len(watcher.revisions) >= len(expected), deadline_seconds=60)  # noqa: B023
                assert watcher.revisions == expected
            stop.set()
    assert len(committed) > TRANSACTIONS * 0.85
    missed = set(committed) - set(naive)
    print(f"{len(committed)} events committed; a reader of `revision > last` missed {len(missed)}")
    assert missed, "the writers did not commit out of order, so this run has proved nothing"
