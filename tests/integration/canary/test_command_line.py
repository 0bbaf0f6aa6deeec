"""No secret is in what the command line and `tinkwell dev` write."""

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator

import pytest
from integration.app.dev.test_dev import DEV, ENVIRONMENT, READY
from integration.canary.conftest import Cage

from support import canary
from support import server as servers
from tinkwell import client
from tinkwell.client import errors

TOKEN, WRONG_TOKEN = canary.named("token"), canary.named("wrong-token")


@pytest.fixture
async def guarded(database_url: str) -> AsyncIterator[servers.Server]:
    async with servers.running(database_url, tokens={"alice": TOKEN}) as server:
        yield server


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=10) as response:
        content: bytes = response.read()
        return content


@pytest.mark.parametrize("flags", [(), ("--debug",)])
async def test_a_token_is_told_neither_in_order_nor_out_of_it(
    cage: Cage, guarded: servers.Server, flags: tuple[str, ...]
) -> None:
    words = (*flags, "hardware", "list")
    assert (await cage.run(*words, TINKWELL_SERVER=guarded.address, TINKWELL_TOKEN=TOKEN))[0] == 0
    for token in (WRONG_TOKEN, f"{WRONG_TOKEN}\n", f"{WRONG_TOKEN} é"):
        code, output = await cage.run("--token", token, *words, TINKWELL_SERVER=guarded.address)
        assert code in (1, 2), output
    code, _ = await cage.run(*words, TINKWELL_SERVER="127.0.0.1:1", TINKWELL_TOKEN=TOKEN, TINKWELL_TIMEOUT="1s")
    assert code == 1
    assert cage.escaped == []


async def test_all_on_one_machine_tells_no_secret(cage: Cage) -> None:
    settings = {
        "TINKWELL_TOKENS": json.dumps({"alice": TOKEN}),
        "TINKWELL_NATS_URL": f"nats://tink:{canary.named('nats-password')}@127.0.0.1:1",
        "TINKWELL_LOG_LEVEL": "debug",
        **ENVIRONMENT,
    }
    async with cage.running(*DEV, "--ephemeral", **settings) as running:
        ready = await running.line(READY, deadline_seconds=60)
        await running.line("workflows are watched", deadline_seconds=60)
        async with client.connect(ready["grpc"], token=WRONG_TOKEN) as refused:
            with pytest.raises(errors.Unauthenticated):
                await refused.events.publish("a.b")
        async with client.connect(ready["grpc"], token=TOKEN) as admitted:
            await admitted.events.publish("a.b")
        assert await asyncio.to_thread(fetch, f"{ready['http']}/metrics")
        assert await running.stop() == 0
    assert cage.escaped == []
