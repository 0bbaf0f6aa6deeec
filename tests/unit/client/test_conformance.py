"""The fake server answers as the real one does; the same checks run against that in the integration tests."""

import pytest

from support import conformance
from support.client_conformance import Check
from tinkwell.client import Client


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
async def test_the_fake_server_conforms(client: Client, check: Check) -> None:
    await check(client)
