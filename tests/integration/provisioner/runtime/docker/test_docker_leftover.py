"""What dead provisioners left on a real engine is removed, and nothing else is."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import docker as sdk
import pytest
from integration.provisioner import engine_image

from support.together import together
from support.waiting import eventually
from tinkwell.client import connect
from tinkwell.client.lease import keeper
from tinkwell.client.testing import FakeServer
from tinkwell.client.workflow.model import Action, Workflow
from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.core.workflow.decide import ALL_WORKERS
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.runtime.docker import label
from tinkwell.provisioner.runtime.docker import runtime as docker
from tinkwell.provisioner.state_dir import state_dir
from tinkwell.provisioner.workflow import driver

pytestmark = pytest.mark.docker


class Engine:
    """The real engine, and the containers that a test puts there."""

    def __init__(self, client: sdk.APIClient, instance: str) -> None:
        self.client = client
        self.instance = instance
        self._containers: list[str] = []

    def add(self, key: RunKey, *, status: str = "created", **labels: str) -> str:
        """Put a container there as a provisioner would have left it that died at some moment."""
        own = {
            "managed": "true",
            "instance": self.instance,
            "workflow": key.owner,
            "action": key.run,
            "attempt": str(key.attempt),
        }
        given = {f"tinkwell.{name}": value for name, value in (own | labels).items() if value}
        command = ["sleep", "1000"] if status == "running" else ["true"]
        name = label.container_name(key)
        container = str(self.client.create_container(engine_image.IMAGE, command, name=name, labels=given)["Id"])
        self._containers.append(container)
        if status != "created":
            self.client.start(container)
        if status == "exited":
            self.client.wait(container)
        return container

    def has(self, container: str) -> bool:
        return bool(self.client.containers(all=True, filters={"id": container}))

    def close(self) -> None:
        for container in filter(self.has, self._containers):
            self.client.remove_container(container, force=True)


@pytest.fixture(scope="module")
def client() -> Iterator[sdk.APIClient]:
    with engine_image.engine_or_skip() as client:
        yield client


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[state_dir.StateDir]:
    with contextlib.closing(state_dir.StateDir.open(tmp_path)) as directory:
        yield directory


@pytest.fixture
def engine(client: sdk.APIClient, directory: state_dir.StateDir) -> Iterator[Engine]:
    with contextlib.closing(Engine(client, directory.instance)) as engine:
        yield engine


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@contextlib.asynccontextmanager
async def provisioner(server: FakeServer, directory: state_dir.StateDir) -> AsyncIterator[None]:
    runtime = await docker.DockerRuntime.connect(directory, concurrency=2)
    async with connect(server.address) as client:
        lease = keeper.Keeper(client.work, owner=directory.owner, engine=directory.instance)
        worker = driver.Driver(
            client.workflows,
            runtime,
            directory,
            keeper=lease,
            claims=run_claim.ClaimFolder(directory),
            serves=ALL_WORKERS,
            concurrency=2,
            resync_seconds=1000,
        )
        task = asyncio.ensure_future(together(worker.run, lease.run))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await runtime.close()


def new_id() -> str:
    return str(uuid.uuid4())


def key_of(workflow_id: str, action_id: str) -> RunKey:
    return RunKey(RunKind.WORKFLOW, workflow_id, action_id, 1)


async def test_runs_of_a_workflow_that_is_gone_are_removed_whatever_they_came_to(
    server: FakeServer, engine: Engine, directory: state_dir.StateDir
) -> None:
    workflow = new_id()
    left = [engine.add(key_of(workflow, new_id()), status=status) for status in ("created", "running", "exited")]
    async with provisioner(server, directory):
        await eventually(lambda: not any(map(engine.has, left)), deadline_seconds=60, interval_seconds=0.2)


async def test_attempts_that_are_over_are_removed_and_the_one_that_is_not_is_left(
    server: FakeServer, engine: Engine, directory: state_dir.StateDir
) -> None:
    workflow, over, current = (new_id() for _ in range(3))
    server.put(Workflow(workflow, total_actions=2))
    for index, action_id in enumerate((over, current)):
        server.put(Action(action_id, workflow, index, worker_id="m", task_name="t", name="a", image="never-run:v1"))
    async with connect(server.address) as worker:
        for action_id, status in ((over, State.RUNNING), (over, State.SUCCEEDED), (current, State.RUNNING)):
            await worker.workflows.report(workflow, action_id=action_id, worker_id="m", state=status)
    left = engine.add(key_of(workflow, over))
    kept = engine.add(key_of(workflow, current), status="running")
    async with provisioner(server, directory):
        await eventually(lambda: not engine.has(left), deadline_seconds=60, interval_seconds=0.2)
    assert engine.has(kept)


async def test_what_is_another_s_or_nobody_s_is_never_touched(
    server: FakeServer, engine: Engine, directory: state_dir.StateDir
) -> None:
    workflow = new_id()
    mine = engine.add(key_of(workflow, new_id()))
    others = [
        engine.add(key_of(workflow, new_id()), instance=uuid.uuid4().hex, status="running"),
        engine.add(key_of(workflow, new_id()), managed=""),
        engine.add(key_of(workflow, new_id()), instance="", managed="", workflow="", action="", attempt=""),
        engine.add(key_of(workflow, new_id()), attempt="x"),
    ]
    async with provisioner(server, directory):
        await eventually(lambda: not engine.has(mine), deadline_seconds=60, interval_seconds=0.2)
    assert all(map(engine.has, others))
