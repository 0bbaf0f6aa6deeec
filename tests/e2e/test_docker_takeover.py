"""Provisioners on one engine, of which all but one are killed: real containers change hands when leases are over."""

import asyncio
import contextlib
import signal
import uuid
from pathlib import Path

import docker
import pytest
from e2e import scene

import tinkwell.client
from support import server as support
from support.waiting import eventually
from tinkwell.client import State

pytestmark = pytest.mark.docker

# Long enough to be renewed in time on a busy machine, and short enough to wait for its end.
LEASE_SECONDS = 2.0
SCRIPT = (
    "echo begin $TINKWELL_ATTEMPT >>/data/{0}; until [ -e /data/go ]; do sleep 0.05; done;"
    " echo end $TINKWELL_ATTEMPT >>/data/{0}; echo said {0}"
)


async def test_the_only_one_left_adopts_the_container_of_its_sibling_and_kills_that_of_a_stranger(
    engine: docker.APIClient, database_url: str, tmp_path: Path
) -> None:
    """Who shares the state directory has the files, and goes on; who does not may only begin anew, if at all."""

    def effects(name: str) -> list[str]:
        path = tmp_path / name
        return path.read_text().splitlines() if path.exists() else []

    machines = {device: str(uuid.uuid4()) for device in scene.MACS}
    for place in ("shared", "own"):
        (tmp_path / place).mkdir()
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(support.running(database_url, lease_seconds=LEASE_SECONDS))
        client = await stack.enter_async_context(tinkwell.client.connect(server.address))
        for device, mac in scene.MACS.items():
            await client.hardware.push({"id": machines[device], "network": {"interfaces": [{"dhcp": {"mac": mac}}]}})
        dying = [
            await stack.enter_async_context(
                scene.provisioner(server.address, tmp_path / place, serves=machines[device])
            )
            for place, device in (("shared", "device_1"), ("own", "device_2"))
        ]
        kept, lost = [
            await scene.create(
                client, scene.task("only", device, tmp_path, scene.action(name, SCRIPT.format(name), more=more))
            )
            for name, device, more in (
                ("kept", "device_1", ""),
                ("lost", "device_2", "        retries: 1\n        retry-delay: 0\n"),
            )
        ]
        stack.callback((tmp_path / "go").touch)  # nothing is left waiting, whatever fails here
        await eventually(lambda: bool(effects("kept") and effects("lost")), deadline_seconds=30)
        last = await stack.enter_async_context(scene.provisioner(server.address, tmp_path / "shared", log="last.log"))
        before = scene.containers(engine, kept)
        await asyncio.gather(*(process.stop(signal.SIGKILL) for process in dying))
        await last.line(f"an action is adopted.*{kept}")
        await eventually(lambda: effects("lost")[1:] == ["begin 2"], deadline_seconds=30)
        assert scene.containers(engine, kept) == before
        # The engine tells of a container a little later than the first effect does.
        await eventually(lambda: len(before) == len(scene.containers(engine, lost)) == 1)
        (tmp_path / "go").touch()
        for workflow, name, attempt in ((kept, "kept", 1), (lost, "lost", 2)):
            assert await scene.finished(client, workflow) is State.SUCCEEDED
            assert [found.attempt for found in await client.workflows.actions(workflow)] == [attempt]
            assert [line.text async for line in client.workflows.logs(workflow)] == [f"said {name}"]
    assert effects("kept") == ["begin 1", "end 1"]
    assert effects("lost") == ["begin 1", "begin 2", "end 2"]
