"""The fake server answers as the real one does; the same checks run against that in the integration tests."""

import pytest

from tinkwell.client import Client

pytest.register_assert_rewrite("support.client_conformance")

from support import client_conformance  # noqa: E402


@pytest.mark.parametrize("check", client_conformance.CHECKS, ids=lambda check: check.__name__)
async def test_the_fake_server_conforms(client: Client, check: client_conformance.Check) -> None:
    await check(client)
