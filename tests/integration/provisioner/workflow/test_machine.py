"""A machine with hooks and reboots: real processes, by the real server, with provisioners that die."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.together import together
from support.waiting import eventually
from tinkwell.client import Client, State
from tinkwell.client.lease import keeper
from tinkwell.core.workflow import decide
from tinkwell.provisioner.agent import reboot as boot
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.runtime.process import runtime as process
from tinkwell.provisioner.state_dir import state_dir as state
from tinkwell.provisioner.workflow import driver

SECONDS = 60.0
TEMPLATE = """\
version: "0.1"
name: hooked
tasks:
  - name: only
    worker: "{{.device_1}}"
    environment: {SITE: lab}
    actions:
      - name: broken
        image: shell
        command: ["echo main; exit 3"]
        on-failure: ["echo $SITE $TINKWELL_HOOK | tee -a trace; until [ -e go ]; do sleep 0.05; done; exit 9"]
        on-timeout: ["echo never >>trace"]
"""
NEXT = """\
version: "0.1"
name: next
tasks:
  - {name: only, worker: "{{.device_1}}", actions: [{name: fine, image: shell, command: ["echo fine"]}]}
"""
REBOOT = """\
version: "0.1"
name: reboot
tasks:
  - name: only
    worker: "{{.device_1}}"
    actions:
      - {name: reboot, image: shell, command: ["echo rebooting >>../../../../trace"], reboot: true, timeout: 600}
      - {name: after, image: shell, command: ["echo after >>../../../../trace"]}
"""


@contextlib.asynccontextmanager
async def provisioner(client: Client, path: Path) -> AsyncIterator[state.StateDir]:
    """A provisioner in this process, whose actions are processes; its end kills nothing."""
    with contextlib.closing(state.StateDir.open(path / "state")) as directory:
        runtime = process.ProcessRuntime(directory, path / "images")
        lease = keeper.Keeper(client.work, owner=directory.owner, engine=directory.instance)
        worker = driver.Driver(
            client.workflows,
            runtime,
            directory,
            keeper=lease,
            claims=run_claim.ClaimFolder(directory),
            serves=decide.ALL_WORKERS,
            concurrency=2,
            resync_seconds=1_000,
        )
        task = asyncio.ensure_future(together(worker.run, lease.run))
        try:
            yield directory
        finally:
            task.cancel()
            await asyncio.wait({task})
            await runtime.close()


@pytest.fixture
async def machine(client: Client, tmp_path: Path) -> str:
    """A machine, beside a template for it and an image."""
    entry_point = tmp_path / "images" / "shell" / "run"
    entry_point.parent.mkdir(parents=True)
    entry_point.write_text('#!/bin/sh\nexec /bin/sh -c "$1"\n')
    entry_point.chmod(0o755)
    machine = str(uuid.uuid4())
    await client.hardware.push({"id": machine})
    for template in (TEMPLATE, NEXT, REBOOT):
        await client.templates.create(template)
    return machine


async def reaches(client: Client, workflow: str, state: State) -> None:
    """Wait until a workflow has this state."""
    async with asyncio.timeout(SECONDS):
        async for event in client.workflows.watch(from_revision=1, resource_types=["WORKFLOW"], resource_id=workflow):
            if State(event.data["state"]) is state:
                return


async def test_a_hook_goes_on_over_a_restart_and_the_next_workflow_begins_when_it_has_ended(
    client: Client, machine: str, tmp_path: Path
) -> None:
    async with provisioner(client, tmp_path) as directory:
        workflow = (await client.workflows.create("hooked", {"device_1": machine})).id
        files = directory.workflow_dir(workflow, machine)
        await eventually((files / "trace").exists, deadline_seconds=SECONDS)
        assert (await client.workflows.get(workflow)).state is State.FAILED
    following = (await client.workflows.create("next", {"device_1": machine})).id
    async with provisioner(client, tmp_path) as directory:
        assert len(directory.run_dirs()) == 2
        context = await client.workflows.context(following)
        assert (context.waits_for_workflow, context.waits_for_worker) == (workflow, machine)
        (files / "go").touch()
        await reaches(client, following, State.SUCCEEDED)
        await eventually(lambda: not directory.run_dirs(), deadline_seconds=SECONDS)
    assert (files / "trace").read_text() == "lab on-failure\n"
    lines = [line.text async for line in client.workflows.logs(workflow)]
    assert lines == ["main", "lab on-failure", "[on-failure exited with code 9]"]
    found = await client.workflows.get(workflow)
    (broken,) = await client.workflows.actions(workflow)
    assert (found.state, broken.state, broken.exit_code) == (State.FAILED, State.FAILED, 3)


async def test_deleting_the_workflow_kills_a_hook_that_runs(client: Client, machine: str, tmp_path: Path) -> None:
    async with provisioner(client, tmp_path) as directory:
        workflow = (await client.workflows.create("hooked", {"device_1": machine})).id
        files = directory.workflow_dir(workflow, machine)
        await eventually((files / "trace").exists, deadline_seconds=SECONDS)
        await client.workflows.delete(workflow)
        await eventually(lambda: not directory.run_dirs() and not files.exists(), deadline_seconds=SECONDS)


async def test_an_action_that_reboots_its_machine_ends_with_that_and_the_next_one_follows(
    client: Client, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot, "current", lambda: "first boot")
    # Not among the workflow's files, which go with its end.
    trace = tmp_path / "trace"
    async with provisioner(client, tmp_path):
        workflow = (await client.workflows.create("reboot", {"device_1": machine})).id
        await eventually(trace.exists, deadline_seconds=SECONDS)
    monkeypatch.setattr(boot, "current", lambda: "second boot")
    async with provisioner(client, tmp_path):
        await reaches(client, workflow, State.SUCCEEDED)
    assert trace.read_text().split() == ["rebooting", "after"]
    reboot, _ = await client.workflows.actions(workflow)
    assert (reboot.message, reboot.attempt) == ("its machine has rebooted", 1)
