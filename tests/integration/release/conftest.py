"""The site that tests of releases work on."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from support import release_site


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[release_site.Site]:
    """The release service over a real channel, and nothing in the database."""
    async with release_site.open_site(database_url) as opened:
        yield opened


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection as psql has it."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)
