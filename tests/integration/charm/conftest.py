"""A server for tests of charms."""

from collections.abc import AsyncIterator

import pytest

import tinkwell.client
from support import server
from tinkwell.client import Client


@pytest.fixture
async def client(database_url: str) -> AsyncIterator[Client]:
    """Connect to a real server, whose leases are over within seconds."""
    async with (
        server.running(database_url, lease_seconds=6) as running,
        tinkwell.client.connect(running.address) as connected,
    ):
        yield connected
