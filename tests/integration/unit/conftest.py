"""What tests of units share."""

from collections.abc import AsyncIterator

import asyncpg
import pytest


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()
