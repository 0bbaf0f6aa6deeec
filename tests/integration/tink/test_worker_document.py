"""The document that a worker hands on: to Tinkwell's own agent and back, and what follows where it is refused."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld
from unit.provisioner.stage import Claims

import tinkwell.client
from support.tink import FIRST_MAC, FIRST_WORKER, SECOND_MAC, SECOND_WORKER, Tools, code
from support.tink_worker import Worker, metadata
from support.together import together
from support.waiting import eventually
from tinkwell.api.tink import workflow_pb2 as pb
from tinkwell.client import State
from tinkwell.client.lease import keeper
from tinkwell.core.workflow import handover
from tinkwell.provisioner.state_dir.state_dir import StateDir
from tinkwell.provisioner.workflow import driver

KILOBYTE = 1_000


class Agent:
    """An agent of the second machine, whose actions are played by the test."""

    def __init__(self, world: FakeWorld, state_dir: StateDir) -> None:
        self._world = world
        self._state_dir = state_dir

    async def act(self, workflow_id: str, content: str) -> str:
        """Let the next action replace the document, and return what it found."""
        await eventually(lambda: bool(self._running()))
        file = self._state_dir.workflow_dir(workflow_id, SECOND_WORKER) / "data"
        found = file.read_text()
        file.write_text(content)
        (run,) = self._running()
        await run.exit(0)
        return found

    def _running(self) -> list[FakeRun]:
        return [run for run in self._world.runs.values() if run.ending is None]


@contextlib.asynccontextmanager
async def agent(tools: Tools, path: Path) -> AsyncIterator[Agent]:
    state_dir, world = StateDir.open(path), FakeWorld()
    async with tinkwell.client.connect(tools.server.address) as client:
        lease = keeper.Keeper(client.work, owner=state_dir.owner, engine="here")
        worker = driver.Driver(
            client.workflows,
            FakeRuntime(world),
            state_dir,
            keeper=lease,
            claims=Claims().of(0),
            serves={SECOND_WORKER},
            concurrency=8,
        )
        working = asyncio.ensure_future(together(worker.run, lease.run))
        try:
            yield Agent(world, state_dir)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            state_dir.close()


async def test_a_document_goes_from_a_worker_to_the_agent_and_back(machines: Tools, tmp_path: Path) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC, SECOND_MAC, FIRST_MAC)
    found: list[bytes] = []

    async def look(action: pb.WorkflowAction) -> None:
        found.append(worker.files[workflow_id])

    worker = Worker(machines, meanwhile=look, write=lambda action, data: b'{"disk": "/dev/sda", "size": 1000}')
    async with agent(machines, tmp_path) as other:
        stream = worker.contexts()
        await worker.take(await anext(stream))
        # It is shorter than what the worker has in its file.
        assert json.loads(await other.act(workflow_id, '{"root": 2}')) == {"disk": "/dev/sda", "size": 1000}
        await worker.take(await anext(stream))
        await stream.aclose()
    assert [json.loads(data) for data in found] == [{}, {"root": 2}]
    request = pb.GetWorkflowDataRequest(workflow_id=workflow_id, version=2)
    told = await machines.workflow.GetWorkflowMetadata(request, timeout=30)
    about = json.loads(told.data)
    assert (about["workerID"], about["taskName"], about["actionName"]) == (SECOND_WORKER, "task1", "action1")


@pytest.mark.parametrize("is_agent", [True, False], ids=["agent", "worker"])
async def test_who_comes_next_waits_for_what_the_worker_hands_on_after_its_success(
    machines: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_agent: bool
) -> None:
    monkeypatch.setattr(handover, "SETTLING_SECONDS", 60.0)
    workflow_id = await machines.create_workflow(FIRST_MAC, SECOND_MAC)

    async def has_begun() -> bool:
        context = await machines.workflow.GetWorkflowContext(pb.GetRequest(id=workflow_id), timeout=30)
        return (context.current_action, context.current_action_state) == ("action1", pb.STATE_RUNNING)

    async def wait(action: pb.WorkflowAction) -> None:
        await eventually(has_begun)

    async def run_next() -> bytes:
        if is_agent:
            async with agent(machines, tmp_path) as other:
                return (await other.act(workflow_id, "{}")).encode()
        worker = Worker(machines, SECOND_WORKER)
        stream = worker.contexts()
        await worker.take(await anext(stream))
        await stream.aclose()
        return worker.files[workflow_id]

    first = Worker(machines, afterwards=wait, write=lambda action, data: b'{"n": 1}')
    stream = first.contexts()
    following = asyncio.ensure_future(run_next())
    await first.take(await anext(stream))
    assert json.loads(await following) == {"n": 1}
    await stream.aclose()


@pytest.mark.parametrize("kilobytes", [1_200, 1_790])
async def test_what_fits_into_a_message_of_the_worker_is_kept(machines: Tools, kilobytes: int) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC)
    large = json.dumps({"text": "x" * kilobytes * KILOBYTE}).encode()
    worker = Worker(machines, write=lambda action, data: large)
    stream = worker.contexts()
    await worker.take(await anext(stream))
    await stream.aclose()
    request = pb.GetWorkflowDataRequest(workflow_id=workflow_id)
    assert (await machines.workflow.GetWorkflowData(request, timeout=30)).data == large
    about = json.loads((await machines.workflow.GetWorkflowMetadata(request, timeout=30)).data)
    assert (about["workerID"], about["actionName"]) == (FIRST_WORKER, "action0")
    # Not the document once more: metadata are kept when the document is not.
    assert len(about["sha256"]) < 100


async def refused_after(machines: Tools, workflow_id: str, data: bytes, **names: str) -> None:
    action = pb.WorkflowAction(worker_id=FIRST_WORKER, task_name="task0", name="action0")
    for field, name in names.items():
        setattr(action, field, name)
    update = pb.UpdateWorkflowDataRequest(workflow_id=workflow_id, data=data, metadata=metadata(action, data))
    assert await code(machines.workflow.UpdateWorkflowData(update)) is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_workflow_whose_worker_ends_with_a_refusal_says_so(
    machines: Tools, caplog: pytest.LogCaptureFixture
) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC, SECOND_MAC)
    worker = Worker(machines, write=lambda action, data: b'{"a": 1, "a": 2}')
    stream = worker.contexts()
    context = await anext(stream)
    with pytest.raises(grpc.aio.AioRpcError):
        await worker.take(context)
    await stream.aclose()
    async with tinkwell.client.connect(machines.server.address) as client:
        workflow = await client.workflows.get(workflow_id)
        assert workflow.state is State.CANCELLED
        told = str((workflow.cause or {})["message"])
        assert told.startswith("the data after action action0 of task task0 was refused: data")
        assert told in [record.__dict__.get("cause") for record in caplog.records]


async def test_only_the_worker_of_an_action_that_has_succeeded_ends_its_workflow_so(machines: Tools) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC, SECOND_MAC)
    await machines.report(workflow_id, 0, pb.STATE_RUNNING)
    wrong = b'{"a": 1, "a": 2}'
    await refused_after(machines, workflow_id, wrong)
    await machines.report(workflow_id, 0, pb.STATE_SUCCESS)
    for names in ({"worker_id": SECOND_WORKER}, {"name": "action1", "task_name": "task1"}, {"worker_id": "nobody"}):
        await refused_after(machines, workflow_id, wrong, **names)
    for about in (b"", b"[]", b"{", b'{"workerID": 1}'):
        update = pb.UpdateWorkflowDataRequest(workflow_id=workflow_id, data=wrong, metadata=about)
        assert await code(machines.workflow.UpdateWorkflowData(update)) is grpc.StatusCode.INVALID_ARGUMENT
    shown = await machines.workflow.GetWorkflow(pb.GetRequest(id=workflow_id), timeout=30)
    assert shown.state == pb.STATE_RUNNING
    await refused_after(machines, workflow_id, wrong)
    shown = await machines.workflow.GetWorkflow(pb.GetRequest(id=workflow_id), timeout=30)
    assert shown.state == pb.STATE_FAILED
