"""Whoever is waited for is named: in the log, in what retention says, and where a role may not see all."""

import asyncio
import contextlib
import dataclasses
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from support import role
from support.scripted_log import make_hub
from support.waiting import eventually
from tinkwell.core.event.holder import Holder
from tinkwell.core.event.retention import StillUsed
from tinkwell.core.event.selection import Selection
from tinkwell.server.app.dev import place, postgres
from tinkwell.server.database import schema
from tinkwell.server.log.read.pace import Pace
from tinkwell.server.log.read.reader import Reader
from tinkwell.server.log.store import partition
from tinkwell.server.log.store.log import PostgresLog

INSERT = "INSERT INTO hardware (id) VALUES ($1)"


@contextlib.asynccontextmanager
async def connected(database_url: str, application: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url, server_settings={"application_name": application})
    try:
        yield connection
    finally:
        await connection.close(timeout=5)


async def draw(connection: asyncpg.Connection) -> None:
    """Draw a revision in a transaction that stays open."""
    await connection.execute("BEGIN; SET CONSTRAINTS ALL IMMEDIATE")
    await connection.execute(INSERT, uuid.uuid4())


def held(caplog: pytest.LogCaptureFixture) -> list[list[str]]:
    """Return who holds delivery, of each message about that."""
    return [vars(record)["holders"] for record in caplog.records if hasattr(record, "holders")]


async def test_the_log_names_whose_open_transaction_holds_delivery(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    log, hub = PostgresLog(role.url_of_server(database_url), table_readers=1), make_hub()
    reader = Reader(log, hub, pace=Pace(warn_after_seconds=0.1))
    async with connected(database_url, "a slow script") as slow, connected(database_url, "quick") as quick, log.open():
        task = asyncio.create_task(reader.run())
        try:
            await asyncio.wait_for(hub.opened.wait(), 10)
            hub.subscribe(Selection(), position=1)
            await draw(slow)
            await quick.execute(INSERT, uuid.uuid4())
            await eventually(lambda: bool(held(caplog)))
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        owner = await slow.fetchval("SELECT current_user")
        (name,) = held(caplog)[0]
        assert name.startswith(f'pid {slow.get_server_pid()} (application "a slow script", role "{owner}"')
        if not role.SERVER_ROLE:
            assert name.endswith(" s, idle in transaction)")


async def test_who_may_not_see_what_others_do_is_told_whose_transaction_it_is(database_url: str) -> None:
    await role.create(database_url, role.SERVER)
    await schema.upgrade(database_url, server_role=role.SERVER)
    async with connected(database_url, "a slow script") as slow:
        await draw(slow)
        log = PostgresLog(role.url_of(database_url, role.SERVER), table_readers=1)
        async with log.open(), log.session() as session:
            (holder,) = await session.who(await session.holders())
    assert (holder.pid, holder.application, holder.state) == (slow.get_server_pid(), "a slow script", "")
    assert "pg_read_all_stats" in str(holder)


async def test_retention_names_who_may_still_write_and_who_has_used_the_log(database_url: str) -> None:
    async with connected(database_url, "a slow script") as slow:
        pid = slow.get_server_pid()
        await draw(slow)
        async with partition.session(database_url, patience_seconds=0.1) as session:
            with pytest.raises(StillUsed, match=f'write old events: pid {pid} .application "a slow script"'):
                await session.settle()
        await slow.execute("COMMIT; BEGIN")
        await slow.fetch("SELECT 1 FROM events")
        async with partition.session(database_url, patience_seconds=0.1) as session:
            with pytest.raises(StillUsed, match=f'used the log and keep .*: pid {pid} .application "a slow script"'):
                await session.discard("events_000000000000")


async def test_a_prepared_transaction_is_named_though_it_has_no_session() -> None:
    bin_dir = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
    with place.temporary() as state_dir:
        async with postgres.embedded(state_dir, bin_dir=bin_dir, durable=False) as cluster:
            await schema.upgrade(cluster.url)
            async with connected(cluster.url, "") as connection:
                await connection.execute("ALTER SYSTEM SET max_prepared_transactions = 1")
        async with (
            postgres.embedded(state_dir, bin_dir=bin_dir, durable=False) as cluster,
            connected(cluster.url, "") as connection,
        ):
            await connection.execute(
                "SET CONSTRAINTS ALL IMMEDIATE; BEGIN; INSERT INTO events (resource_type, event_type,"
                " name, version, data, size) VALUES ('CUSTOM', 'CUSTOM', 'a.b', 1, '{}', 2); PREPARE TRANSACTION 'mine'"
            )
            owner = await connection.fetchval("SELECT current_user")
            log = PostgresLog(cluster.url, table_readers=1)
            async with log.open(), log.session() as session:
                (holder,) = await session.who(await session.holders())
            assert holder.open_seconds is not None
            assert dataclasses.replace(holder, open_seconds=None) == Holder(role=owner, prepared="mine")
            await connection.execute("ROLLBACK PREPARED 'mine'")
