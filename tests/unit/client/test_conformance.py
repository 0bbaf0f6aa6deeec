"""The fake server answers as the real one does; the same checks run against that in the integration tests."""

import pytest

from tinkwell.client import Client

pytest.register_assert_rewrite(
    "support.client_conformance",
    "support.lease_conformance",
    "support.deadline_conformance",
    "support.release_chart_conformance",
    "support.release_conformance",
    "support.release_secret_conformance",
)

from support import (  # noqa: E402
    client_conformance,
    deadline_conformance,
    lease_conformance,
    release_chart_conformance,
    release_conformance,
    release_secret_conformance,
)

CHECKS = (
    *client_conformance.CHECKS,
    *lease_conformance.CHECKS,
    *deadline_conformance.CHECKS,
    *release_conformance.CHECKS,
    *release_chart_conformance.CHECKS,
    *release_secret_conformance.CHECKS,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_fake_server_conforms(client: Client, check: client_conformance.Check) -> None:
    await check(client)
