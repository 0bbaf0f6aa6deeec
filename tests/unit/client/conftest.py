"""A fake server and a client of it for each test."""

from collections.abc import AsyncIterator

import pytest

import tinkwell.client
from tinkwell.client import testing


@pytest.fixture
async def server() -> AsyncIterator[testing.FakeServer]:
    async with testing.FakeServer(batch_size=3, bookmark_seconds=0.05) as fake:
        yield fake


@pytest.fixture
async def client(server: testing.FakeServer) -> AsyncIterator[tinkwell.client.Client]:
    async with tinkwell.client.connect(server.address) as connected:
        yield connected
