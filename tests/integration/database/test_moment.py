"""Times that are stored can be read by everybody: one beyond the years 1 to 9999 would fail every list that has it."""

import contextlib
import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

import tinkwell.client
from tinkwell.client import errors
from tinkwell.server.database import schema

ROLE = f"keeper_{uuid.uuid4().hex}"
MACHINE = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
BEYOND = ["294276-12-31 23:59:59Z", "4713-01-01 00:00:00Z BC", "infinity", "-infinity", "10000-01-01 00:00:00Z"]
# Those of the log are written by its own functions alone, and say when a partition was forgotten.
OTHERS = """
    SELECT format('%s.%s', c.relname, a.attname)
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND a.atttypid = 'timestamptz'::regtype
"""


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


@pytest.fixture
async def keeper(owner: asyncpg.Connection, database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection of a role that may change machines, and nothing else."""
    await owner.execute(f"CREATE ROLE {ROLE}; GRANT SELECT, INSERT, UPDATE, DELETE ON hardware TO {ROLE}")
    connection = await asyncpg.connect(database_url)
    await connection.execute(f"SET SESSION AUTHORIZATION {ROLE}")
    yield connection
    await connection.close(timeout=5)
    await owner.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")


async def test_no_time_is_without_bounds(owner: asyncpg.Connection) -> None:
    assert {row[0] for row in await owner.fetch(OTHERS)} == {"events.created_at", "event_discard.discarded_at"}


@pytest.mark.parametrize("column", ["created_at", "updated_at", "deleted_at"])
@pytest.mark.parametrize("moment", BEYOND)
async def test_who_may_change_machines_cannot_make_times_that_nobody_can_read(
    keeper: asyncpg.Connection, moment: str, column: str
) -> None:
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await keeper.execute(f"INSERT INTO hardware (id, {column}) VALUES (gen_random_uuid(), '{moment}')")
    assert refused.value.constraint_name == "moment_range"


@pytest.mark.parametrize("moment", BEYOND)
async def test_machines_are_listed_whatever_somebody_has_tried(
    keeper: asyncpg.Connection, client: tinkwell.client.Client, moment: str
) -> None:
    await keeper.execute("INSERT INTO hardware (id) VALUES ($1)", uuid.UUID(MACHINE))
    with pytest.raises(asyncpg.CheckViolationError):
        await keeper.execute(f"UPDATE hardware SET created_at = '{moment}'")
    assert [machine.id async for machine in client.hardware.all()] == [MACHINE]
    assert (await client.hardware.by_id(MACHINE)).version == 1


@pytest.mark.parametrize("moment", ["9999-12-31 23:59:59.999999Z", "0001-01-01 00:00:00Z"])
async def test_the_first_and_the_last_moment_are_read_as_they_are(
    keeper: asyncpg.Connection, client: tinkwell.client.Client, moment: str
) -> None:
    await keeper.execute(f"INSERT INTO hardware (id, created_at) VALUES ('{MACHINE}', '{moment}')")
    async with client.events.watch(from_revision=1) as watch:
        assert (await anext(watch)).event_type == "CREATED"
    stored = (await client.hardware.by_id(MACHINE)).created_at
    assert stored is not None
    assert f"{stored.isoformat(sep=' ').removesuffix('+00:00')}Z" == moment


async def test_an_upgrade_brings_times_to_their_bounds_and_tells_so(
    database_url: str, owner: asyncpg.Connection
) -> None:
    await schema.downgrade(database_url, "0005")
    await owner.execute(
        "INSERT INTO hardware (id, created_at)"
        " SELECT gen_random_uuid(), moment::timestamptz FROM unnest($1::text[]) moment",
        [*BEYOND, "2026-05-17 08:00:00Z"],
    )
    await schema.upgrade(database_url)
    rows = await owner.fetch("SELECT created_at::text FROM hardware WHERE version > 1 AND deleted_at IS NULL")
    assert sorted(row[0] for row in rows) == 2 * ["0001-01-01 00:00:00+00"] + 3 * ["9999-12-31 23:59:59.999999+00"]
    assert await owner.fetchval("SELECT count(*) FROM events WHERE name = 'hardware.updated'") == len(BEYOND)


async def test_a_server_goes_on_while_an_upgrade_changes_the_types_of_what_it_reads(
    database_url: str, client: tinkwell.client.Client
) -> None:
    async def listed() -> list[str]:
        return [machine.id async for machine in client.hardware.all()]

    async def use(name: str) -> tuple[list[str], object]:
        await client.hardware.push({"id": MACHINE, "metadata": {"name": name}})
        found = (await client.hardware.by_id(MACHINE)).metadata["name"]
        # A long list cannot be begun anew by the server.
        with contextlib.suppress(errors.Unavailable):
            return await listed(), found
        return await listed(), found

    assert await use("a") == ([MACHINE], "a")
    await schema.downgrade(database_url, "0005")
    assert await use("b") == ([MACHINE], "b")
    await schema.upgrade(database_url)
    assert await use("c") == ([MACHINE], "c")
