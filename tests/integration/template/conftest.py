"""The services over the test's own database."""

from collections.abc import AsyncIterator

import pytest

from support import resource


@pytest.fixture
async def resources(database_url: str) -> AsyncIterator[resource.Resources]:
    """Hardware and templates, served."""
    async with resource.serving(database_url) as running:
        yield running
