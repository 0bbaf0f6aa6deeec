"""What one statement says of a unit is what the pure rule makes of all rows, whoever changes them meanwhile.

`UNIT_VIEW_ROUNDS=100` takes more rounds.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import asyncpg
import pytest

from support import unit_snapshot
from support.unit_rows import Rows
from support.unit_writer import Writer
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database

WRITERS = 12
DEEDS = 12
ROUNDS = int(os.environ.get("UNIT_VIEW_ROUNDS", "20"))


@pytest.fixture
async def database(server_url: str) -> AsyncIterator[Database]:
    pool = engine.create(server_url, pool_size=WRITERS)
    yield Database(pool)
    await pool.dispose()


async def test_the_view_equals_the_pure_rule_while_twelve_write(
    database: Database, database_url: str, sql: asyncpg.Connection
) -> None:
    async with AsyncExitStack() as stack:
        connections = [await asyncpg.connect(database_url) for _ in range(WRITERS)]
        for connection in connections:
            stack.push_async_callback(connection.close)
        compared = 0
        for number in range(ROUNDS):
            compared += await play(number, connections, database, sql)
        assert compared > ROUNDS * 20


async def play(seed: int, connections: list[asyncpg.Connection], database: Database, sql: asyncpg.Connection) -> int:
    """Let all write to a namespace of their own, and compare meanwhile; return how many views were compared."""
    chance = random.Random(seed)
    first = Rows(connections[0], database, f"round-{seed}")
    await first.prepare()
    profile = chance.choice(["LITERAL", "JUJU"])
    for name in ("a", "b", "c"):
        await first.application(name, profile=profile)
        await first.relate((name, "cluster"))
        await first.unit(name)
    writers = [
        Writer(Rows(connection, database, first.namespace), random.Random(f"{seed}/{place}"))
        for place, connection in enumerate(connections)
    ]
    compared = 0
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(writer.write(DEEDS)) for writer in writers]
        while not all(task.done() for task in tasks):
            compared += await unit_snapshot.compare(sql, first.namespace)
    return compared + await unit_snapshot.compare(sql, first.namespace)
