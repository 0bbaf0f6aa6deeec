"""What one statement says of a unit is what the pure rule makes of all rows, whoever changes them meanwhile.

What came of all that is legal, as an audit of the log says.

`UNIT_VIEW_ROUNDS=100` takes more rounds.
"""

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import asyncpg
import pytest

from support import unit_snapshot
from support.unit_rows import Rows
from support.unit_writer import Writer
from tinkwell.core.unit.invariant import audit
from tinkwell.core.unit.world.state import LogEntry
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database

WRITERS = 12
DEEDS = 4
# Those who write are to have most of the machine.
PAUSE_SECONDS = 0.1
ROUNDS = int(os.environ.get("UNIT_VIEW_ROUNDS", "20"))


@pytest.fixture
async def database(server_url: str) -> AsyncIterator[Database]:
    pool = engine.create(server_url, pool_size=WRITERS)
    yield Database(pool)
    await pool.dispose()


@pytest.mark.parametrize("profile", ["LITERAL", "JUJU"])
async def test_the_view_equals_the_pure_rule_while_twelve_write(
    profile: str, database: Database, database_url: str, sql: asyncpg.Connection
) -> None:
    async with AsyncExitStack() as stack:
        connections = [await asyncpg.connect(database_url) for _ in range(WRITERS)]
        for connection in connections:
            stack.push_async_callback(connection.close)
        await begin(Rows(sql, database), profile)
        compared = 0
        for seed in range(ROUNDS // 2):
            writers = [
                Writer(Rows(connection, database), random.Random(f"{seed}/{place}"))
                for place, connection in enumerate(connections)
            ]
            compared += await play(writers, sql)
        assert compared > ROUNDS * 5
        await writers[0].rest()
    assert audit(await entries(sql), is_at_rest=True) == []


async def entries(sql: asyncpg.Connection) -> list[LogEntry]:
    """Return the log as a watcher has it."""
    return [
        LogEntry(
            revision=row["revision"],
            resource_type=row["resource_type"],
            event_type=row["event_type"],
            resource_id=str(row["resource_id"]),
            parent_id=str(row["parent_id"] or ""),
            data=json.loads(row["data"]),
        )
        for row in await sql.fetch("SELECT * FROM events ORDER BY revision")
    ]


async def begin(rows: Rows, profile: str) -> None:
    """Make three applications, two of which are related, and have their units be told all of it."""
    await rows.prepare()
    for name in ("a", "b", "c"):
        await rows.application(name, profile=profile)
        await rows.relate((name, "cluster"))
    units = [await rows.unit(name) for name in ("a", "a", "b", "b", "c")]
    await rows.relate(("a", "db"), ("b", "db"))
    await rows.settle(*units)


async def play(writers: list[Writer], sql: asyncpg.Connection) -> int:
    """Let all write at once, and compare meanwhile; return how many views were compared."""
    compared = 0
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(writer.write(DEEDS)) for writer in writers]
        while not all(task.done() for task in tasks):
            compared += await unit_snapshot.compare(sql, "default")
            await asyncio.wait(tasks, timeout=PAUSE_SECONDS)
    return compared + await unit_snapshot.compare(sql, "default")
