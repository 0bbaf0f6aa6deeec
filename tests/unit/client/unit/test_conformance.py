"""The fake server answers about applications as the real one does; the integration tests run the same checks there."""

import pytest

from support import unit_conformance
from support.client_conformance import Check
from tinkwell.client import Client


@pytest.mark.parametrize("check", unit_conformance.CHECKS, ids=lambda check: check.__name__)
async def test_the_fake_server_conforms(client: Client, check: Check) -> None:
    await check(client)
