"""What would lose events, or have them told wrongly, is refused by the database, whoever tries."""

import datetime
import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from support import partitions, role
from tinkwell.core.event.retention import Policy
from tinkwell.server.database import schema

POLICY = Policy(age=datetime.timedelta(days=1), count=0)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    await partitions.publish(connection, 3)
    yield connection
    await connection.close(timeout=5)


@pytest.mark.parametrize(
    "change",
    [
        "TRUNCATE events",
        "TRUNCATE ONLY events",
        "TRUNCATE events_000000000000",
        "TRUNCATE events_000020000000",
        "DELETE FROM events",
        "DELETE FROM events WHERE revision = 2",
        "DELETE FROM events_000000000000",
        "UPDATE events SET revision = revision + 10",
        "UPDATE events_000000000000 SET data = '{}'",
        "SET session_replication_role = replica; DELETE FROM events",
        "SET session_replication_role = replica; TRUNCATE events",
    ],
)
async def test_the_log_is_not_rewritten(database: asyncpg.Connection, change: str) -> None:
    with pytest.raises((asyncpg.FeatureNotSupportedError, asyncpg.WrongObjectTypeError)):
        await database.execute(change)
    assert await partitions.revisions(database) == [1, 2, 3]


async def test_nor_is_a_partition_that_was_added_later(database: asyncpg.Connection, database_url: str) -> None:
    before = await partitions.partitions(database)
    await database.execute("SELECT setval('events_revision', 1999999)")
    await partitions.publish(database, 1)
    await partitions.caretaker(database_url, POLICY).run_once()
    added = [name for name in await partitions.partitions(database) if name not in before]
    assert added
    for name in (added[0], "events_000002000000"):
        with pytest.raises(asyncpg.FeatureNotSupportedError, match="would lose events"):
            await database.execute(f"TRUNCATE {name}")
    await database.execute(f"SELECT setval('events_revision', {int(added[0].removeprefix('events_'))})")
    await partitions.publish(database, 1)
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="would change what has been delivered"):
        await database.execute(f"DELETE FROM {added[0]}")


async def test_an_owner_who_is_no_superuser_cannot_set_revisions(empty_database_url: str) -> None:
    await role.create(empty_database_url, role.OWNER)
    superuser = await asyncpg.connect(empty_database_url)
    await superuser.execute(f"GRANT CREATE ON SCHEMA public TO {role.quoted(role.OWNER)}")
    url = role.url_of(empty_database_url, role.OWNER)
    await schema.upgrade(url)
    owner = await asyncpg.connect(url)
    await partitions.publish(owner, 3)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await owner.execute("SELECT setval('events_revision', 1)")
    await partitions.publish(owner, 1)
    assert await partitions.revisions(owner) == [1, 2, 3, 4]
    await owner.close(timeout=5)
    await superuser.execute(f"DROP OWNED BY {role.quoted(role.OWNER)}")
    await superuser.close(timeout=5)


async def test_a_session_that_plays_a_replica_writes_events_and_counts_versions(database: asyncpg.Connection) -> None:
    await database.execute("SET session_replication_role = replica")
    machine = uuid.uuid4()
    await database.execute("INSERT INTO hardware (id) VALUES ($1)", machine)
    await database.execute("UPDATE hardware SET metadata = '{}'")
    with pytest.raises(asyncpg.CheckViolationError):
        await database.execute("UPDATE hardware SET id = gen_random_uuid()")
    rows = await database.fetch("SELECT name, version FROM events WHERE resource_id = $1 ORDER BY revision", machine)
    assert [tuple(row) for row in rows] == [("hardware.created", 1), ("hardware.updated", 2)]


async def test_every_trigger_of_events_and_versions_is_always_enabled(database: asyncpg.Connection) -> None:
    rows = await database.fetch(
        r"""
        SELECT DISTINCT t.tgname, t.tgenabled::text FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
         WHERE NOT t.tgisinternal AND p.proname ~ '^(write_\w+_event|count_version|refuse_\w+)$'
        """
    )
    assert len(rows) > 30
    assert {row[1] for row in rows} == {"A"}
