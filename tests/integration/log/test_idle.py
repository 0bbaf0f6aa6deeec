"""What an idle server's sessions keep from vacuum and from whoever rebuilds an index: nothing."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

import tinkwell.client
from support import server as servers
from support.waiting import eventually
from tinkwell.server.database.election import PostgresElection
from tinkwell.server.log.store import partition

SLEEPERS = "SELECT count(*) FROM pg_locks WHERE relation = 'bell'::regclass AND mode = 'ShareLock' AND granted"
IN_TRANSACTION = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state ~ '^idle in'"
SESSIONS = """
    SELECT application_name, state, query, backend_xmin::text, backend_xid::text
      FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
# Shorter than a sleep, so that what a sleeper keeps is not overlooked between two.
LOOK_SECONDS = 3
OURS = {"tinkwell", "tinkwell reader", "tinkwell listener", "tinkwell bell"}
MACHINE = {"id": "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a21", "metadata": {}}


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url, command_timeout=60)
    yield connection
    await connection.close(timeout=5)


async def asleep(owner: asyncpg.Connection, servers_count: int = 1) -> None:
    async def are_asleep() -> bool:
        return bool(await owner.fetchval(SLEEPERS) == servers_count)

    await eventually(are_asleep, deadline_seconds=30)


async def nobody_holds_vacuum_back(owner: asyncpg.Connection) -> None:
    """Return once all sessions have let go of their snapshots; one may just have been looking at the log."""
    holding: list[asyncpg.Record] = []

    async def nobody_does() -> bool:
        holding[:] = [row for row in await owner.fetch(SESSIONS) if row["backend_xmin"] or row["backend_xid"]]
        return not holding

    try:
        await eventually(nobody_does, deadline_seconds=LOOK_SECONDS)
    except TimeoutError:
        raise AssertionError(f"sessions hold vacuum back: {holding}") from None


async def test_a_sleeping_server_has_no_snapshot_and_no_transaction_number(
    database_url: str, owner: asyncpg.Connection
) -> None:
    async with servers.running(database_url) as server, tinkwell.client.connect(server.address) as client:
        await client.hardware.push(MACHINE)
        async with client.events.watch(from_revision=1) as watch:
            assert (await anext(watch)).resource_id == MACHINE["id"]
            for _ in range(3):
                await asleep(owner)
                await nobody_holds_vacuum_back(owner)
                await owner.execute("UPDATE hardware SET metadata = '{\"a\": 1}'")
                assert (await anext(watch)).event_type == "UPDATED"
            await asleep(owner)
            assert {row["application_name"] for row in await owner.fetch(SESSIONS)} >= OURS


async def test_indexes_are_rebuilt_concurrently_while_servers_sleep(
    database_url: str, owner: asyncpg.Connection
) -> None:
    await owner.execute("INSERT INTO hardware (id) VALUES (gen_random_uuid())")
    async with servers.running(database_url), servers.running(database_url):
        await asleep(owner, servers_count=2)
        # Each of them waits several times for all who have an older snapshot, which could be for a sleep of seconds.
        async with asyncio.timeout(20):
            await owner.execute("REINDEX TABLE CONCURRENTLY hardware")
            await owner.execute("REINDEX TABLE CONCURRENTLY events")
        await nobody_holds_vacuum_back(owner)


async def test_nor_have_those_who_relay_or_look_after_partitions(database_url: str, owner: asyncpg.Connection) -> None:
    async with PostgresElection(database_url).stand() as leadership, partition.session(database_url) as session:
        assert leadership is not None
        assert await leadership.confirm()
        assert await session.lock()
        assert await owner.fetchval(IN_TRANSACTION) == 2
        await nobody_holds_vacuum_back(owner)
