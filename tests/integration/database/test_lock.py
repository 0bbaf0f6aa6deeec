"""Who takes turns does so by locks of tables: a role without a privilege on them keeps nobody from anything."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

import tinkwell.server
from support import role
from support.waiting import eventually
from tinkwell.server.database import engine, schema
from tinkwell.server.database.election import PostgresElection
from tinkwell.server.hardware.store import enrolment
from tinkwell.server.log.store import partition

ROLE = f"nobody_{uuid.uuid4().hex}"
# The numbers that were locked once, and all others would do as well: whoever may connect may take them.
NUMBERS = (7_436_019_255, 7_436_019_256, 7_436_019_257, 0x74696E6B72656C79)
TABLES = ("self_enrolment", "event_discard", "relay", "alembic_version")
PATIENCE_SECONDS = 5


@pytest.fixture
async def nobody(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection of a role that may look at everything and change machines."""
    owner = await asyncpg.connect(database_url)
    await owner.execute(
        f"CREATE ROLE {ROLE}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {ROLE};"
        f"GRANT INSERT, UPDATE, DELETE ON hardware TO {ROLE}"
    )
    connection = await asyncpg.connect(database_url)
    await connection.execute(f"SET SESSION AUTHORIZATION {ROLE}")
    yield connection
    await connection.close(timeout=5)
    await owner.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")
    await owner.close(timeout=5)


async def enrol(database_url: str) -> None:
    async with engine.connect(database_url) as connection, connection.begin():
        await enrolment.take_turn(connection)


async def is_free(database_url: str) -> tuple[bool, bool]:
    """Whether the log can be looked after, and whether it can be relayed."""
    async with (
        partition.session(database_url) as session,
        PostgresElection(role.url_of_server(database_url)).stand() as leadership,
    ):
        return await session.lock(), leadership is not None


async def test_a_role_without_privileges_stops_nobody(database_url: str, nobody: asyncpg.Connection) -> None:
    for number in NUMBERS:
        await nobody.execute("SELECT pg_advisory_lock($1)", number)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await enrol(role.url_of_server(database_url))
    assert await is_free(database_url) == (True, True)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await schema.upgrade(database_url)


async def test_who_changes_machines_and_takes_long_keeps_none_from_being_enrolled(
    database_url: str, nobody: asyncpg.Connection
) -> None:
    async with nobody.transaction():
        await nobody.execute("DELETE FROM hardware; INSERT INTO hardware (id) VALUES (gen_random_uuid())")
        async with asyncio.timeout(PATIENCE_SECONDS):
            await enrol(role.url_of_server(database_url))


@pytest.mark.parametrize("table", TABLES)
async def test_it_cannot_lock_what_others_wait_for(nobody: asyncpg.Connection, table: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await nobody.execute(f"BEGIN; LOCK TABLE {table} IN SHARE UPDATE EXCLUSIVE MODE")


async def test_turns_are_taken_one_after_the_other_and_of_each_kind_by_itself(database_url: str) -> None:
    async with partition.session(database_url) as first, PostgresElection(database_url).stand() as leadership:
        assert leadership is not None
        assert await first.lock()
        assert await is_free(database_url) == (False, False)
        await enrol(database_url)
        assert await leadership.confirm()
        async with engine.connect(database_url) as connection, connection.begin():
            await enrolment.take_turn(connection)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await enrol(database_url)
    assert await is_free(database_url) == (True, True)


async def test_who_wants_to_drop_the_table_of_the_relay_waits_no_longer_than_for_a_sign_of_life(
    database_url: str,
) -> None:
    owner = await asyncpg.connect(database_url)
    async with PostgresElection(database_url).stand() as leadership:
        assert leadership is not None
        dropped = asyncio.create_task(owner.execute("DROP TABLE relay"))

        async def is_given_up() -> bool:
            return not await leadership.confirm()

        await eventually(is_given_up, deadline_seconds=PATIENCE_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await dropped
    await owner.close(timeout=5)


def test_no_code_takes_a_lock_that_everybody_may_take() -> None:
    folders = [*map(Path, tinkwell.server.__path__), schema.this_release().location]
    files = [file for folder in folders for kind in ("*.py", "*.sql") for file in folder.rglob(kind)]
    assert len(files) > 100
    assert [file for file in files if "advisory_" in file.read_text(encoding="utf-8")] == []
