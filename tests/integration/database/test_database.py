"""The pool that requests share: what its callers are told when the database is out of reach."""

import asyncio
import contextlib
import itertools
import socket
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from support import waiting
from tinkwell.core import errors
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database, Fetch, Transaction

# What a client sends before all else, to ask for TLS.
SSL_REQUEST = (80877103).to_bytes(4)


@pytest.fixture
async def database(server_url: str) -> AsyncIterator[Database]:
    pool = engine.create(server_url, pool_size=1)
    yield Database(pool)
    await pool.dispose()


@pytest.mark.parametrize(
    "lost",
    [
        ConnectionResetError("reset by peer"),
        TimeoutError(),
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
        asyncpg.AdminShutdownError("terminating connection due to administrator command"),
        asyncpg.InterfaceError("connection is closed"),
        # What asyncpg says of some lost connections, as if they were mistakes of its own.
        asyncpg.InternalClientError("unexpected termination"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_every_way_to_lose_a_connection_is_told_as_unavailable(database: Database, lost: Exception) -> None:
    async def read(connection: AsyncConnection) -> None:
        raise lost

    async def write(transaction: Transaction) -> None:
        raise lost

    with pytest.raises(errors.Unavailable):
        await database.read(read)
    with pytest.raises(errors.Unavailable):
        await database.write(write, actor="test")
    with pytest.raises(errors.Unavailable):
        async with database.snapshot():
            raise lost
    # The only connection of the pool was given back each time.
    assert await database.answers()


async def test_a_terminated_connection_is_replaced(database: Database, database_url: str) -> None:
    assert await database.answers()
    other = await asyncpg.connect(database_url)
    await other.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'tinkwell' AND datname = current_database()"
    )
    await other.close()
    # Whether the socket is closed is known a moment later.
    await waiting.eventually(database.answers)


async def test_a_connection_that_has_rested_for_long_is_asked_and_used(server_url: str) -> None:
    pool = engine.create(server_url, pool_size=1, fresh_seconds=-1.0)
    sessions = [(await Database(pool).fetch("SELECT pg_backend_pid()"))[0][0] for _ in range(3)]
    await pool.dispose()
    assert len(set(sessions)) == 1


async def test_what_was_dropped_while_a_statement_waited_for_it_is_not_there_yet_again(database: Database) -> None:
    before = (await database.fetch("SELECT pg_backend_pid()"))[0][0]
    with pytest.raises(errors.Unavailable, match="not usable yet"):
        await database.fetch("SELECT currval(1::oid)")
    # Its session may have planned other statements for what was dropped as well.
    assert (await database.fetch("SELECT pg_backend_pid()"))[0][0] != before


async def test_a_database_that_nobody_serves_is_unavailable() -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        pool = engine.create(f"postgresql://nobody@127.0.0.1:{unheard.getsockname()[1]}/none", pool_size=1)
        assert not await Database(pool).answers()
        await pool.dispose()


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer as PostgreSQL does that starts or stops."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while (await reader.readexactly(int.from_bytes(await reader.readexactly(4)) - 4))[:4] == SSL_REQUEST:
            writer.write(b"N")
        fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
        writer.write(b"E" + (len(fields) + 4).to_bytes(4) + fields)
        await writer.drain()
    writer.close()


async def test_a_database_that_starts_is_unavailable_in_every_way() -> None:
    async def read(connection: AsyncConnection) -> None:
        raise AssertionError("there is no connection")

    async def change(fetch: Fetch) -> tuple[None, bool]:
        raise AssertionError("there is no connection")

    async with await asyncio.start_server(_refuse, "127.0.0.1", 0) as server:
        pool = engine.create(f"postgresql://nobody@127.0.0.1:{server.sockets[0].getsockname()[1]}/none", pool_size=1)
        database = Database(pool)
        for ask in (lambda: database.read(read), lambda: database.change(change), lambda: database.fetch("SELECT 1")):
            with pytest.raises(errors.Unavailable):
                await ask()
        await pool.dispose()


async def test_a_write_that_is_cut_off_at_any_moment_leaves_the_next_one_a_session_in_order(server_url: str) -> None:
    async def write(transaction: Transaction) -> None:
        await transaction.connection.execute(sqlalchemy.text("INSERT INTO hardware (id) VALUES (gen_random_uuid())"))

    async def read(connection: AsyncConnection) -> int:
        return int((await connection.execute(sqlalchemy.text("SELECT 1"))).scalar_one())

    for answers in itertools.count():
        pool = engine.create(server_url, pool_size=1)
        database = Database(pool)
        assert await database.answers()
        task = asyncio.create_task(database.write(write, actor="test"))
        await _cut_off(task, after_answers=answers)
        assert await database.read(read) == 1
        await pool.dispose()
        if not task.cancelled():
            break
    assert answers > 5


async def _cut_off(task: "asyncio.Task[Any]", *, after_answers: int) -> None:
    """Cancel a task when what it waits for has come for the nth time, and before it can go on."""
    last = None
    while not task.done():
        awaited = getattr(task, "_fut_waiter", None)
        if awaited is not None and awaited is not last and awaited.done():
            last = awaited
            if after_answers == 0:
                task.cancel()
                break
            after_answers -= 1
        await asyncio.sleep(0)
    await asyncio.gather(task, return_exceptions=True)


async def test_one_statement_raises_what_a_transaction_does_and_keeps_its_connection(database: Database) -> None:
    session = "SELECT pg_backend_pid()"
    [before] = await database.fetch(session)
    assert [row["at"] for row in await database.fetch("SELECT unnest($1::int[]) AS at", [3, 4])] == [3, 4]
    with pytest.raises(errors.InvalidField):
        await database.fetch("SELECT $1::jsonb", '"\\u0000"')
    insert = "INSERT INTO template (id, name, data) VALUES (gen_random_uuid(), $1, '-')"
    await database.fetch(insert, "once")
    with pytest.raises(errors.AlreadyExists, match="once"):
        await database.fetch(insert, "once")
    [after] = await database.fetch(session)
    assert after == before


async def test_one_statement_whose_session_is_ended_is_unavailable(database: Database) -> None:
    with pytest.raises(errors.Unavailable):
        await database.fetch("SELECT pg_terminate_backend(pg_backend_pid())")
    await waiting.eventually(database.answers)


async def test_one_statement_that_is_cut_off_at_any_moment_leaves_the_next_one_a_session_in_order(
    server_url: str,
) -> None:
    for answers in itertools.count():
        pool = engine.create(server_url, pool_size=1)
        database = Database(pool)
        assert await database.answers()
        task = asyncio.create_task(database.fetch("SELECT count(*) FROM hardware, pg_sleep($1)", 0.01))
        await _cut_off(task, after_answers=answers)
        assert len(await database.fetch("SELECT 1")) == 1
        await pool.dispose()
        if not task.cancelled():
            break
    assert answers > 0


async def test_plans_that_were_made_for_an_empty_table_are_made_anew_when_it_has_grown(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_FIRST_PLANS_SECONDS", "_PLANS_SECONDS"):
        monkeypatch.setattr(engine, name, 0.0)

    async def plan() -> str:
        return str((await database.fetch("EXPLAIN EXECUTE found(1)"))[0][0])

    # Nobody looks at this table by itself, which would have it planned anew as well.
    await database.fetch("CREATE TEMPORARY TABLE growing (id int PRIMARY KEY) WITH (autovacuum_enabled = false)")
    await database.fetch("INSERT INTO growing VALUES (0)")
    await database.fetch("ANALYZE growing")
    await database.fetch("SET plan_cache_mode = force_generic_plan")
    # Sessions are told to leave such plans; what they are told here is only so that it shows when a plan is made.
    await database.fetch("SET enable_seqscan = on")
    await database.fetch("PREPARE found AS SELECT id FROM growing WHERE id = $1")
    assert "Seq Scan" in await plan()
    await database.fetch("INSERT INTO growing SELECT generate_series(1, 10000)")
    assert "Index Only Scan" in await plan()
