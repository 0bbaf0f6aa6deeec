"""What tests of units share."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from support.unit_rows import Rows
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection as psql has it."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


@pytest.fixture
async def rows(sql: asyncpg.Connection, server_url: str) -> AsyncIterator[Rows]:
    """Rows, and the namespace and the charm that they are of."""
    pool = engine.create(server_url, pool_size=4)
    made = Rows(sql, Database(pool))
    await made.prepare()
    yield made
    await pool.dispose()
