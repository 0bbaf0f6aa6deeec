"""What the database cannot refuse is found: events are waited for, or their loss is told, and not passed over."""

import asyncio
import contextlib
import os
import signal
import urllib.error
import urllib.request
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

import tinkwell.client
from support import partitions, role
from support import server as servers
from support.server import Server
from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.core.event.page import SourceLost
from tinkwell.server.app.dev import place, postgres
from tinkwell.server.database import schema
from tinkwell.server.log.store.log import PostgresLog

BIN_DIR = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


async def history(connection: asyncpg.Connection) -> str:
    return str(await connection.fetchval("SELECT history_id FROM event_history"))


async def is_unready(server: Server) -> bool:
    def ask() -> bool:
        try:
            with urllib.request.urlopen(f"http://{server.http_address}/readyz", timeout=10):
                return False
        except urllib.error.HTTPError:
            return True

    return await asyncio.to_thread(ask)


async def take(watch: tinkwell.client.Watch, count: int) -> list[int]:
    async with asyncio.timeout(20):
        return [(await anext(watch)).revision for _ in range(count)]


async def is_ended(watch: tinkwell.client.Watch) -> None:
    """Wait for the watch to be told that positions mean nothing any more."""

    async def read_on() -> None:
        async for _ in watch:
            pass

    with pytest.raises(errors.OtherHistory):
        await asyncio.wait_for(read_on(), 20)


async def draw_in_vain(connection: asyncpg.Connection, count: int) -> None:
    """Draw revisions that are rolled back."""
    transaction = connection.transaction()
    await transaction.start()
    for _ in range(count):
        await partitions.publish(connection, 1)
    await transaction.rollback()


async def test_no_event_is_lost_while_sessions_draw_many_revisions_at_once(
    database: asyncpg.Connection, database_url: str, server: Server, client: tinkwell.client.Client
) -> None:
    other = await asyncpg.connect(database_url)
    async with client.events.watch(from_revision=1) as watch:
        await database.execute("ALTER SEQUENCE events_revision CACHE 50")
        await partitions.publish(database, 1)
        await partitions.publish(other, 1)
        # All have ended who could have drawn what is missing, but for numbers that a session has kept.
        await eventually(lambda: is_unready(server))
        await partitions.publish(database, 1)
        await database.execute("ALTER SEQUENCE events_revision CACHE 1")
        await partitions.publish(other, 1)
        assert await take(watch, 4) == [1, 2, 51, 101]
    await other.close(timeout=5)


async def test_a_revision_that_was_dead_and_is_drawn_again_is_another_history(
    database: asyncpg.Connection, client: tinkwell.client.Client
) -> None:
    before = await history(database)
    async with client.events.watch(from_revision=1) as watch:
        await partitions.publish(database, 1)
        await draw_in_vain(database, 3)
        await partitions.publish(database, 1)
        assert await take(watch, 2) == [1, 5]
        # Under load it is back where it was before anybody has looked.
        await database.execute("SELECT setval('events_revision', 2)")
        await partitions.publish(database, 1)
        await database.execute("SELECT setval('events_revision', 5)")
        await is_ended(watch)
    assert await history(database) != before
    async with client.events.watch(from_revision=1) as watch:
        assert await take(watch, 3) == [1, 3, 5]


@pytest.mark.parametrize("loss", ["TRUNCATE events", "DELETE FROM events WHERE revision = 3"])
async def test_who_gets_round_the_guards_makes_another_history(
    database: asyncpg.Connection, client: tinkwell.client.Client, loss: str
) -> None:
    async with client.events.watch(from_revision=1) as watch:
        await partitions.publish(database, 3)
        assert await take(watch, 3) == [1, 2, 3]
        tables = ["events", *await partitions.partitions(database)]
        await database.execute("; ".join(f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in tables))
        await database.execute(loss)
        await database.execute("; ".join(f"ALTER TABLE {table} ENABLE TRIGGER ALL" for table in tables))
        await is_ended(watch)


async def test_a_trigger_that_is_disabled_meanwhile_is_found(database: asyncpg.Connection, server_url: str) -> None:
    async with PostgresLog(server_url, table_readers=1).open() as log, log.session() as session:
        assert await session.verify(known="", delivered=[], dead=[])
        await database.execute("ALTER TABLE hardware DISABLE TRIGGER hardware_event")

        async def look() -> None:
            for _ in range(20):
                await session.verify(known="", delivered=[], dead=[])

        with pytest.raises(SourceLost, match="trigger hardware_event of hardware is disabled"):
            await look()


@pytest.fixture
async def fragile_url() -> AsyncIterator[str]:
    """A cluster of its own, for a crash, which writes nothing to its log before it must."""
    with place.temporary() as state_dir:
        async with postgres.embedded(state_dir, bin_dir=BIN_DIR, durable=False, roles=role.ALL) as cluster:
            connection = await asyncpg.connect(cluster.url)
            await connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
            await connection.execute("ALTER SYSTEM SET wal_writer_flush_after = '1GB'")
            await connection.execute("SELECT pg_reload_conf()")
            await connection.close()
            await role.create_for_servers(cluster.url)
            await schema.upgrade(cluster.url, server_role=role.SERVER_ROLE)
            yield cluster.url


async def crash(url: str) -> None:
    """Kill one backend, for which PostgreSQL ends all others and recovers."""
    connection = await asyncpg.connect(url)
    os.kill(connection.get_server_pid(), signal.SIGKILL)

    async def is_back() -> bool:
        with contextlib.suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            again = await asyncpg.connect(url, timeout=5)
            await again.close(timeout=5)
            return True
        return False

    await eventually(connection.is_closed, deadline_seconds=30)
    await eventually(is_back, deadline_seconds=30)


async def test_an_event_that_was_delivered_and_that_a_crash_takes_back_is_told_as_a_loss(fragile_url: str) -> None:
    async with (
        servers.running(fragile_url) as server,
        tinkwell.client.connect(server.address) as client,
        client.events.watch(from_revision=1) as watch,
    ):
        writer = await asyncpg.connect(fragile_url)
        await partitions.publish(writer, 3)
        assert await take(watch, 3) == [1, 2, 3]
        # The trigger has turned it on, and may have its way no longer once it has written the event.
        machine = uuid.uuid4()
        await writer.execute(
            f"BEGIN; INSERT INTO hardware (id) VALUES ('{machine}'); SET CONSTRAINTS ALL IMMEDIATE;"
            "SET LOCAL synchronous_commit = off; COMMIT"
        )
        assert await take(watch, 1) == [4]
        writer.terminate()
        await crash(fragile_url)
        again = await asyncpg.connect(fragile_url)
        assert await again.fetchval("SELECT count(*) FROM hardware") == 0
        await again.close()
        await is_ended(watch)


async def test_a_crash_that_takes_nothing_back_ends_no_watch(fragile_url: str) -> None:
    async with (
        servers.running(fragile_url) as server,
        tinkwell.client.connect(server.address) as client,
        client.events.watch(from_revision=1) as watch,
    ):
        writer = await asyncpg.connect(fragile_url)
        await partitions.publish(writer, 3)
        assert await take(watch, 3) == [1, 2, 3]
        writer.terminate()
        await crash(fragile_url)
        again = await asyncpg.connect(fragile_url)
        await partitions.publish(again, 1)
        await again.close()
        async with asyncio.timeout(20):
            assert (await anext(watch)).revision > 3
