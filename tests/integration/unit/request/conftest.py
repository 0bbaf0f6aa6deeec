"""What tests of requests share."""

from collections.abc import AsyncIterator

import pytest

from support import application_site


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[application_site.Site]:
    """Applications and namespaces over a real channel, and nothing in the database."""
    async with application_site.open_site(database_url) as opened:
        yield opened
