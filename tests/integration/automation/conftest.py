"""A place for automations to run in."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.automation import Place
from support.receiver import Receiver


@pytest.fixture
async def place(tmp_path: Path, server_address: str) -> AsyncIterator[Place]:
    async with Receiver().running() as receiver:
        yield Place(tmp_path, server_address, receiver)
