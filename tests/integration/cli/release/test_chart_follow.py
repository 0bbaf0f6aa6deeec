"""An installation of a chart that is followed to its end."""

import json
from pathlib import Path

import pytest
from integration.cli import running
from integration.cli.running import WAIT_SECONDS

import tinkwell.client
from support import waiting
from support.release_provisioner import Provisioner
from tinkwell.client import testing
from tinkwell.core.event.kinds import State
from tinkwell.core.release.plan import Plan

CHART = str(Path(__file__).parents[4] / "examples" / "charts" / "shop")
RENDERED = {
    "plugs": {},
    "resources": {},
    "outputs": {},
    "charts": {"shop": {"name": "shop", "version": "1.0.0", "batches": [["shop"]], "edges": [], "notes": "Hello.\n"}},
}


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.FAILED])
async def test_the_notes_come_after_a_success_and_only_then(state: State) -> None:
    async with testing.FakeServer(bookmark_seconds=0.1) as fake, tinkwell.client.connect(fake.address) as client:
        owner = await Provisioner.enter(client)
        async with running.tinkwell(fake, "release", "install", "shop", CHART) as process:
            await waiting.eventually(lambda: bool(fake.requests("ListNodes")), deadline_seconds=WAIT_SECONDS)
            operation_id = (await client.releases.get("shop")).operation_id
            await client.releases.acquire(operation_id, owner.token)
            await owner.submit(operation_id, Plan(()), manifest=json.dumps(RENDERED))
            await owner.finish(operation_id, state, path="a")
            code, output, _ = await running.end(process)
    assert code == (0 if state is State.SUCCEEDED else 1)
    assert output.endswith("\n\nHello.\n") is (state is State.SUCCEEDED)
