"""A site whose role or database has settings for other programs: all that ours do works there as anywhere else."""

import asyncio
import datetime
import json
from collections.abc import AsyncIterator

import asyncpg
import pytest

import tinkwell.client
from support import hostile
from support import server as servers
from support.partitions import caretaker, partitions
from support.waiting import eventually
from tinkwell.core.event.retention import Policy
from tinkwell.server.database import readiness, schema

# Two words whose letters no Latin alphabet of one byte has together.
MACHINE = {"id": "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a31", "metadata": {"name": "Ölmühle Łódź", "weight": 0.1}}
# Closes and forgets whatever it finds, and makes one more partition ready than there are.
AT_ONCE = Policy(age=datetime.timedelta(microseconds=1), count=0, width=1_000_000, ready=21_000_000)
# A session that is ended and begun anew is younger, and a sleep that is broken off is shorter.
STEADY = """
    SELECT count(*) = 3 AND bool_or(application_name = 'tinkwell bell' AND now() - xact_start > '0.6s')
      FROM pg_stat_activity
     WHERE datname = current_database() AND now() - backend_start > '1s'
       AND application_name IN ('tinkwell reader', 'tinkwell listener', 'tinkwell bell')
"""
# What keeps a session from changing anything, or its changes from being recorded; and what is the driver's own to set.
HINDRANCES = ("search_path", "default_transaction_read_only", "session_replication_role", "client_encoding")
TABLES = "SELECT DISTINCT relnamespace::regnamespace::text FROM pg_class WHERE relname IN ('events', 'alembic_version')"


@pytest.fixture
async def owner(empty_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A session that begins before anything is set."""
    connection = await asyncpg.connect(empty_database_url)
    await connection.execute("CREATE SCHEMA elsewhere")
    yield connection
    await connection.close(timeout=5)


@pytest.mark.parametrize("place", hostile.PLACES)
async def test_all_works_whatever_is_set(empty_database_url: str, owner: asyncpg.Connection, place: str) -> None:
    url = empty_database_url
    await hostile.configure(owner, place, hostile.settings(owner))
    # Of three at once, two wait for a lock.
    states = await asyncio.gather(*(schema.upgrade(url) for _ in range(3)))
    assert states == [states[0]] * 3
    async with servers.running_as(url, retention_interval_seconds=0) as server:
        await a_watcher_sees_what_is_written(server.address, owner)
        first = (await partitions(owner))[0]
        for _ in range(2):
            assert await caretaker(url, AT_ONCE).run_once() == "done"
        assert first not in await partitions(owner)
    assert await schema.upgrade(url) == states[0] == await schema.current(url)
    await schema.downgrade(url, "base")
    await schema.upgrade(url)
    await readiness.wait(url, allow_unsafe=True)


async def a_watcher_sees_what_is_written(address: str, owner: asyncpg.Connection) -> None:
    """Write through the API, and with psql once the server has slept for longer than any of the timeouts."""
    async with tinkwell.client.connect(address) as client, client.events.watch(from_revision=1) as watch:
        await client.hardware.push(MACHINE)
        event = await anext(watch)
        assert (event.revision, event.event_type, event.data["metadata"]) == (1, "CREATED", MACHINE["metadata"])
        assert event.created_at is not None
        assert abs(datetime.datetime.now(datetime.UTC) - event.created_at) < datetime.timedelta(minutes=5)
        await eventually(lambda: owner.fetchval(STEADY), deadline_seconds=30)
        await owner.execute("UPDATE hardware SET metadata = '{}'")
        assert (await anext(watch)).event_type == "UPDATED"


async def test_events_do_not_depend_on_the_settings_of_who_makes_a_change(database_url: str) -> None:
    written = []
    owner = await asyncpg.connect(database_url)
    await owner.execute("INSERT INTO hardware (id) VALUES (gen_random_uuid())")
    for name, value in hostile.settings(owner).items():
        if name not in HINDRANCES and not name.endswith("_timeout"):
            writer = await asyncpg.connect(database_url, server_settings={name: value})
            await writer.execute("UPDATE hardware SET version = version")
            await writer.close(timeout=5)
            event = json.loads(await owner.fetchval("SELECT data FROM events ORDER BY revision DESC LIMIT 1"))
            written.append((name, {key: event[key] for key in event if key not in ("version", "updated_at")}))
    assert [name for name, event in written if event != written[0][1]] == []
    assert written[0][1]["created_at"].endswith("Z")
    await owner.close(timeout=5)


PATHS = {
    "role": "ALTER ROLE {role} IN DATABASE {database} SET search_path = elsewhere",
    "database": "ALTER DATABASE {database} SET search_path = elsewhere, pg_catalog",
    "nowhere": "ALTER DATABASE {database} SET search_path = ''",
    "named like the role": "CREATE SCHEMA {role}",
}


async def lead_astray(owner: asyncpg.Connection, path: str) -> None:
    role, database = await owner.fetchrow("SELECT quote_ident(current_user), quote_ident(current_database())")
    await owner.execute(PATHS[path].format(role=role, database=database))


@pytest.mark.parametrize("path", PATHS)
async def test_a_schema_is_made_where_servers_look_for_it(
    empty_database_url: str, owner: asyncpg.Connection, path: str
) -> None:
    await lead_astray(owner, path)
    await schema.upgrade(empty_database_url)
    assert [row[0] for row in await owner.fetch(TABLES)] == ["public"]
    await readiness.wait(empty_database_url, allow_unsafe=True)


@pytest.mark.parametrize("path", PATHS)
async def test_a_schema_that_there_is_is_found(database_url: str, path: str) -> None:
    state = await schema.current(database_url)
    connection = await asyncpg.connect(database_url)
    await connection.execute("CREATE SCHEMA elsewhere")
    await lead_astray(connection, path)
    await readiness.wait(database_url, allow_unsafe=True)
    assert await schema.upgrade(database_url) == state
    assert [row[0] for row in await connection.fetch(TABLES)] == ["public"]
    await connection.close(timeout=5)
