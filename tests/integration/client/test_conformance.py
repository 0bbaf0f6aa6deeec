"""The real server answers as the fake one, which users test with, does."""

import pytest

from tinkwell.client import Client

pytest.register_assert_rewrite("support.client_conformance")

from support import client_conformance  # noqa: E402


@pytest.mark.parametrize("check", client_conformance.CHECKS, ids=lambda check: check.__name__)
async def test_the_real_server_conforms(client: Client, check: client_conformance.Check) -> None:
    await check(client)
