"""The site that tests of workflows and leases work on."""

from collections.abc import AsyncIterator

import pytest

from support import site as support


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[support.Site]:
    """Two machines, and the workflow service over a real channel."""
    async with support.open_site(database_url) as opened:
        yield opened
