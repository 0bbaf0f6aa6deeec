"""The real server answers as the fake one, which users test with, does."""

import pytest

from support import conformance
from support.client_conformance import Check
from tinkwell.client import Client


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
async def test_the_real_server_conforms(client: Client, check: Check) -> None:
    await check(client)
