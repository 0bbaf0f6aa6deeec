"""What sessions begin with, whatever administrators have set for their role or database."""

from collections.abc import AsyncIterator

import asyncpg
import pytest
import sqlalchemy

from support import hostile, role
from tinkwell.server.database import engine, session

# Each kind of session by its name in the module.
KINDS = [name for name, value in vars(session).items() if name.isupper() and isinstance(value, dict) and name[0] != "_"]
ALL = "SELECT lower(name) AS name, setting FROM pg_settings WHERE lower(name) = ANY ($1)"
ONE = "SELECT current_setting('{}')"


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


async def found(database_url: str, names: list[str]) -> dict[str, dict[str, str]]:
    """Return by the kind of session what it has of these settings."""
    all_kinds = {}
    for kind in KINDS:
        connection = await session.connect(database_url, getattr(session, kind))
        all_kinds[kind] = {row["name"]: row["setting"] for row in await connection.fetch(ALL, names)}
        await connection.close(timeout=5)
    return all_kinds


@pytest.mark.parametrize("place", hostile.PLACES)
async def test_each_setting_is_ours_in_each_kind_of_session(
    database_url: str, owner: asyncpg.Connection, place: str
) -> None:
    harmful = hostile.settings(owner)
    before = await found(database_url, list(harmful))
    # As PostgreSQL comes: the cluster of tests has it off.
    assert {kind["synchronous_commit"] for kind in before.values()} == {"on"}
    await hostile.configure(owner, place, harmful)
    after = await found(database_url, list(harmful))
    assert {"TASK", "POOL", "READER", "BELL"} <= set(KINDS)
    for kind in KINDS:
        assert len(after[kind]) == len(harmful)
        assert after[kind] == before[kind], kind


async def test_no_session_of_a_server_waits_for_a_lock_without_end(database_url: str) -> None:
    limits = {
        kind: int(settings["lock_timeout"]) for kind, settings in (await found(database_url, ["lock_timeout"])).items()
    }
    # A migration may have to wait for long transactions, and somebody watches it.
    assert limits.pop("TASK") == 0
    assert {kind: limit for kind, limit in limits.items() if not 0 < limit <= 15_000} == {}


async def test_pools_begin_their_sessions_as_all_others(database_url: str, owner: asyncpg.Connection) -> None:
    await hostile.configure(owner, "role", hostile.settings(owner))
    # The first is said at the start of a session, the second once it has begun.
    expected = {"search_path": "public", "synchronous_commit": "on"}
    for_requests = engine.create(database_url, pool_size=1)
    async with for_requests.connect() as connection, engine.connect(database_url) as task:
        for one in (connection, task):
            assert {name: await one.scalar(sqlalchemy.text(ONE.format(name))) for name in expected} == expected
    await for_requests.dispose()
    async with session.create_pool(database_url, session.REPLAY, command_seconds=10, max_size=1) as pool:
        assert {name: await pool.fetchval(ONE.format(name)) for name in expected} == expected


async def test_what_is_no_business_of_ours_is_left_to_administrators(
    database_url: str, owner: asyncpg.Connection
) -> None:
    theirs = {"synchronous_commit": "remote_write", "work_mem": "7777kB", "enable_hashjoin": "off"}
    await hostile.configure(owner, "database", theirs)
    connection = await session.connect(database_url, session.POOL)
    assert {name: await connection.fetchval(ONE.format(name)) for name in theirs} == theirs
    await connection.close(timeout=5)


async def test_a_setting_that_a_role_may_not_unset_is_no_reason_not_to_connect(
    database_url: str, owner: asyncpg.Connection
) -> None:
    await role.create(database_url, role.SERVER)
    database = await owner.fetchval("SELECT current_database()")
    await owner.execute(
        f"ALTER ROLE {role.quoted(role.SERVER)} IN DATABASE {database} SET session_replication_role = replica"
    )
    connection = await session.connect(role.url_of(database_url, role.SERVER), session.TASK)
    assert await connection.fetchval(ONE.format("session_replication_role")) == "replica"
    await connection.close(timeout=5)


async def test_settings_of_the_url_do_not_win_over_ours(database_url: str) -> None:
    connection = await session.connect(
        f"{database_url}&options=-c%20search_path%3Delsewhere%20-c%20work_mem%3D7777kB", session.POOL
    )
    assert await connection.fetchval(ONE.format("search_path")) == "public"
    assert await connection.fetchval(ONE.format("work_mem")) == "7777kB"
    await connection.close(timeout=5)
