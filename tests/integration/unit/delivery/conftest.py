"""What tests of delivery share."""

from collections.abc import AsyncIterator

import pytest

from support import unit_site


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[unit_site.Site]:
    """UnitService over a real channel, and nothing but a namespace and a charm in the database."""
    async with unit_site.open_site(database_url) as opened:
        yield opened
