"""A server with a port for Tinkerbell's tools, and the channel that these make to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from support import server as support
from support import tink


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Settings of a certificate for the address of the tests, which Go's TLS wants as an IP among the names."""
    directory = tmp_path_factory.mktemp("tls")
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(directory / "cert.pem")
    issued.private_key_pem.write_to_path(directory / "key.pem")
    return {"tink_cert": directory / "cert.pem", "tink_key": directory / "key.pem"}


@pytest.fixture
async def tools(database_url: str, certificate: dict[str, Path]) -> AsyncIterator[tink.Tools]:
    """Tinkerbell's tools, connected to a server."""
    async with support.running(database_url, tink_port=0, **certificate) as server, tink.connected(server) as tools:
        yield tools


@pytest.fixture
async def machines(tools: tink.Tools) -> tink.Tools:
    """The same, with two machines."""
    await tools.push(tink.FIRST_WORKER, tink.FIRST_MAC)
    await tools.push(tink.SECOND_WORKER, tink.SECOND_MAC)
    return tools
