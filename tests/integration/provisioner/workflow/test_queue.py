"""Workflows for one machine run one after another on the real server, the oldest first."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from unit.provisioner.fake_runtime import FakeRuntime, FakeWorld
from unit.provisioner.stage import Claims

from support.together import together
from support.waiting import eventually
from tinkwell.client import Client, State
from tinkwell.client.lease import keeper
from tinkwell.core.event.kinds import EventType
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.workflow import driver

TEMPLATE = """\
version: "0.1"
name: greet
tasks:
  - {name: install, worker: "{{.device_1}}", actions: [{name: greet, image: greet}]}
"""
SECONDS = 60.0


class Files:
    """No workflow leaves files here."""

    def workflow_dir(self, workflow_id: str, worker_id: str) -> Path:
        return Path("/no/folder")

    def bring_document(self, workflow_id: str, worker_id: str, *, content: bytes | None) -> None:
        pass

    def document_size(self, workflow_id: str, worker_id: str) -> int | None:
        return None

    def read_document(self, workflow_id: str, worker_id: str, *, max_bytes: int) -> bytes | None:
        return None

    def workflows(self) -> list[str]:
        return []

    def forget_workflow(self, workflow_id: str) -> None:
        pass

    def note_boot(self, key: RunKey, boot_id: str) -> None:
        raise AssertionError("no action reboots its machine here")

    def noted_boot(self, key: RunKey) -> str:
        raise AssertionError("no action reboots its machine here")


@contextlib.asynccontextmanager
async def provisioner(client: Client, world: FakeWorld, machine: str) -> AsyncIterator[None]:
    # Only events lead it on: the list comes too late for this test.
    lease = keeper.Keeper(client.work, owner="here/0", engine="here")
    worker = driver.Driver(
        client.workflows,
        FakeRuntime(world),
        Files(),
        keeper=lease,
        claims=Claims().of(0),
        serves={machine},
        concurrency=8,
        resync_seconds=1_000,
    )
    task = asyncio.ensure_future(together(worker.run, lease.run))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_queued_workflows_run_in_their_order_and_a_cancelled_holder_lets_the_next_one_start(
    client: Client,
) -> None:
    machine, world = str(uuid.uuid4()), FakeWorld()
    await client.hardware.push({"id": machine})
    await client.templates.create(TEMPLATE)
    created = [(await client.workflows.create("greet", {"device_1": machine})).id for _ in range(5)]
    async with provisioner(client, world, machine):
        await eventually(lambda: len(world.runs) == 1, deadline_seconds=SECONDS)
        (first,) = world.runs
        waiting = [id_ for id_ in created if id_ != first.owner]
        for id_ in waiting:
            context = await client.workflows.context(id_)
            assert (context.waits_for_workflow, context.waits_for_worker) == (first.owner, machine)
        await client.workflows.cancel(first.owner)
        for id_ in waiting:
            await eventually(lambda: [key.owner for key in world.runs] == [id_], deadline_seconds=SECONDS)  # noqa: B023  (it ends in this turn)
            (run,) = world.runs.values()
            await run.exit(0)
        await eventually(lambda: not world.runs, deadline_seconds=SECONDS)
    ended = [workflow.state async for workflow in client.workflows.list()]
    assert sorted(ended) == sorted([State.CANCELLED] + [State.SUCCEEDED] * 4)
    started: list[str] = []
    async with client.workflows.watch(event_types=[EventType.WORKFLOW_STARTED]) as events:
        async for event in events:
            started.append(event.resource_id)
            if len(started) == len(created):
                break
    assert started == [first.owner, *waiting]
