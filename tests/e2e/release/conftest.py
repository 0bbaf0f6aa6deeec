"""A provisioner that carries out releases of the examples' images, as processes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support import release_stack
from tinkwell.client import Client


@pytest.fixture
async def stack(client: Client, server_address: str, tmp_path: Path) -> AsyncIterator[release_stack.Stack]:
    """A server, and a provisioner for it."""
    async with release_stack.running(client, server_address, tmp_path) as running:
        yield running
