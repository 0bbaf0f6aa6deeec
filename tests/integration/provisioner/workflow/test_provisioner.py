"""The provisioner as a process, against a server over gRPC, with real processes and real containers."""

import asyncio
import contextlib
import dataclasses
import signal
import sys
import uuid
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import docker
import pytest
from integration.provisioner import engine_image

from support.waiting import eventually
from tinkwell import client
from tinkwell.client import testing
from tinkwell.client.workflow.model import Action, Workflow
from tinkwell.core.event.kinds import State

SECONDS = 30.0
MACHINES = (str(uuid.UUID(int=1)), str(uuid.UUID(int=2)))


class Place:
    """Where actions run: how a provisioner is told, and what its images are called."""

    def __init__(self, path: Path, runtime: str, engine: docker.APIClient | None = None) -> None:
        self.path = path
        self.engine = engine
        self.runtime = runtime
        self.state_dir = path / "state"
        if runtime == "process":
            entry_point = path / "images" / "shell" / "run"
            entry_point.parent.mkdir(parents=True)
            entry_point.write_text('#!/bin/sh\nexec /bin/sh -c "$1"\n')
            entry_point.chmod(0o755)

    def action(self, script: str, **fields: Any) -> Action:
        is_process = self.runtime == "process"
        command = (script,) if is_process else ("/bin/sh", "-c", script)
        image = "shell" if is_process else engine_image.IMAGE
        return Action(str(uuid.uuid4()), image=image, command=command, worker_id=MACHINES[0], **fields)

    def runs(self) -> list[str]:
        """What is there of runs: the names of folders, or the ids of containers."""
        if self.engine is None:
            return [path.name for path in (self.state_dir / "runs").iterdir()]
        instance = (self.state_dir / "instance").read_text()
        found = self.engine.containers(all=True, filters={"label": f"tinkwell.instance={instance}"})
        return [container["Id"] for container in found]

    def says(self, text: str) -> bool:
        """Whether the provisioners have written this to standard error, however it was wrapped."""
        return text in " ".join((self.path / "stderr").read_text().split())

    def options(self, server: testing.FakeServer) -> list[str]:
        options = ["--server", server.address, "--runtime", self.runtime, "--state-dir", str(self.state_dir)]
        return [*options, "--process-images", str(self.path / "images"), "--log-level", "debug"]


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "process":
        yield Place(tmp_path, request.param)
        return
    with engine_image.engine_or_skip() as engine:
        place = Place(tmp_path, request.param, engine)
        yield place
        for container in place.runs():
            with contextlib.suppress(docker.errors.APIError):  # a provisioner that was killed may just have removed it
                engine.remove_container(container, force=True, v=True)


@pytest.fixture
async def server() -> AsyncIterator[testing.FakeServer]:
    async with testing.FakeServer() as server:
        yield server


@contextlib.asynccontextmanager
async def provisioner(
    place: Place, server: testing.FakeServer, *arguments: str, agent_for: Sequence[str] = ("all",)
) -> AsyncIterator[Process]:
    """Run a provisioner; one that still runs at the end is killed."""
    workers = [argument for worker in agent_for for argument in ("--agent-for", worker)]
    command = [sys.executable, "-m", "tinkwell.provisioner", *place.options(server), *workers, *arguments]
    with (place.path / "stderr").open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(*command, stderr=stderr)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def exit_code(process: Process) -> int:
    async with asyncio.timeout(SECONDS):
        return await process.wait()


def add_workflow(server: testing.FakeServer, *actions: Action) -> Workflow:
    workflow = server.put(Workflow(str(uuid.uuid4()), total_actions=len(actions)))
    for index, action in enumerate(actions):
        server.put(dataclasses.replace(action, workflow_id=workflow.id, index=index, task_name="task", name=f"{index}"))
    return workflow


async def reaches(server: testing.FakeServer, workflow: Workflow, state: State) -> None:
    await eventually(lambda: server.world.find(Workflow, workflow.id).state is state, deadline_seconds=SECONDS)


def texts(server: testing.FakeServer, workflow: Workflow) -> list[str]:
    return [line.text for line in server.world.lines.get(workflow.id, [])]


async def prints(server: testing.FakeServer, workflow: Workflow, text: str) -> None:
    await eventually(lambda: text in texts(server, workflow), deadline_seconds=SECONDS)


async def is_clear(place: Place) -> None:
    """Wait until nothing is left of any run."""
    await eventually(lambda: not place.runs(), deadline_seconds=SECONDS)


async def test_a_workflow_of_three_tasks_on_two_machines_runs_in_order(
    place: Place, server: testing.FakeServer
) -> None:
    workflow = add_workflow(
        server,
        place.action("echo first $GREETING; echo x > $WORKFLOW_DIR/file", environment=("GREETING=hello",)),
        dataclasses.replace(place.action("echo second; ls $WORKFLOW_DIR; echo oops >&2"), worker_id=MACHINES[1]),
        place.action("echo third; cat $WORKFLOW_DIR/file"),
    )
    async with provisioner(place, server, agent_for=MACHINES) as process:
        await reaches(server, workflow, State.SUCCEEDED)
        lines = texts(server, workflow)
        # Of the other machine's files there is none but the document that all share.
        assert sorted(lines[1:4]) == ["data", "oops", "second"]
        assert [lines[0], *lines[4:]] == ["first hello", "third", "x"]
        await is_clear(place)
        await eventually(lambda: not list((place.state_dir / "workflows").iterdir()))
        process.send_signal(signal.SIGTERM)
        assert await exit_code(process) == 0
    states = [(entry.action_name, entry.state) for entry in server.world.journal]
    assert states == [(name, state) for name in "012" for state in (State.RUNNING, State.SUCCEEDED)]


async def test_actions_share_a_document_on_whichever_machines_they_run(
    place: Place, server: testing.FakeServer
) -> None:
    workflow = add_workflow(
        server,
        place.action("cat $WORKFLOW_DIR/data; echo '{\"n\": 1}' > $WORKFLOW_DIR/data"),
        dataclasses.replace(place.action("cat $WORKFLOW_DIR/data"), worker_id=MACHINES[1]),
    )
    async with provisioner(place, server, agent_for=MACHINES):
        await reaches(server, workflow, State.SUCCEEDED)
    assert texts(server, workflow) == ["{}", '{"n": 1}']
    assert [data for data, _ in server.world.documents[workflow.id]] == [b'{"n": 1}\n']


async def test_a_failing_action_fails_the_workflow(place: Place, server: testing.FakeServer) -> None:
    workflow = add_workflow(server, place.action("echo why >&2; exit 9"), place.action("echo never"))
    async with provisioner(place, server):
        await reaches(server, workflow, State.FAILED)
    failed, cancelled = server.world.actions_of(workflow.id)
    assert (failed.exit_code, failed.message, cancelled.state) == (9, "exited with code 9", State.CANCELLED)
    assert texts(server, workflow) == ["why"]


async def test_an_action_runs_once_though_its_provisioner_is_killed_meanwhile(
    place: Place, server: testing.FakeServer
) -> None:
    script = "echo started >> $WORKFLOW_DIR/starts; echo waiting; until [ -e $WORKFLOW_DIR/go ]; do sleep 0.1; done"
    workflow = add_workflow(
        server, place.action(f"{script}; echo done"), place.action("cat $WORKFLOW_DIR/starts; echo over")
    )
    async with provisioner(place, server) as process:
        await prints(server, workflow, "waiting")
        process.kill()
        await process.wait()
    (place.state_dir / "workflows" / workflow.id / MACHINES[0] / "go").touch()
    async with provisioner(place, server):
        await reaches(server, workflow, State.SUCCEEDED)
    assert texts(server, workflow) == ["waiting", "done", "started", "over"]


async def test_a_stopped_provisioner_leaves_its_runs_to_the_next(place: Place, server: testing.FakeServer) -> None:
    workflow = add_workflow(
        server, place.action("echo waiting; until [ -e $WORKFLOW_DIR/go ]; do sleep 0.1; done; exit 4")
    )
    async with provisioner(place, server) as process:
        await prints(server, workflow, "waiting")
        process.send_signal(signal.SIGTERM)
        assert await exit_code(process) == 0
    assert server.world.find(Workflow, workflow.id).state is State.RUNNING
    async with provisioner(place, server):
        (place.state_dir / "workflows" / workflow.id / MACHINES[0] / "go").touch()
        await reaches(server, workflow, State.FAILED)
    assert server.world.actions_of(workflow.id)[0].exit_code == 4


async def test_an_ephemeral_provisioner_clears_up_to_the_end_though_the_signal_comes_again_and_again(
    place: Place, server: testing.FakeServer
) -> None:
    workflow = add_workflow(server, place.action("echo waiting; sleep 1000"))
    async with provisioner(place, server, "--ephemeral") as process:
        await prints(server, workflow, "waiting")
        process.send_signal(signal.SIGTERM)
        await eventually(lambda: place.says("the provisioner stops"), deadline_seconds=SECONDS)
        while process.returncode is None:
            process.send_signal(signal.SIGTERM)
            if not place.runs():
                break
            await asyncio.sleep(0)
        # Its value is left open: a signal that comes while Python itself ends, when all is cleared up, shows in it.
        await exit_code(process)
    assert place.runs() == []


async def test_a_server_that_is_killed_meanwhile_hears_the_rest_when_it_is_back(
    place: Place, server: testing.FakeServer
) -> None:
    workflow = add_workflow(
        server,
        place.action("echo waiting; until [ -e $WORKFLOW_DIR/go ]; do sleep 0.1; done; echo done"),
        place.action("true"),
    )
    async with provisioner(place, server):
        await prints(server, workflow, "waiting")
        await server.stop()
        (place.state_dir / "workflows" / workflow.id / MACHINES[0] / "go").touch()
        await eventually(lambda: place.says("the server does not answer"))
        await server.start()
        await reaches(server, workflow, State.SUCCEEDED)
    assert texts(server, workflow) == ["waiting", "done"]


async def test_a_cancelled_workflow_stops_what_runs(place: Place, server: testing.FakeServer) -> None:
    workflow = add_workflow(server, place.action("echo waiting; sleep 1000"))
    async with provisioner(place, server) as process:
        await prints(server, workflow, "waiting")
        async with client.connect(server.address) as caller:
            await caller.workflows.cancel(workflow.id)
        await is_clear(place)
        assert process.returncode is None
    assert [entry.state for entry in server.world.journal] == [State.RUNNING]


async def test_a_workflow_cancelled_while_no_provisioner_lived_is_stopped_by_the_next(
    place: Place, server: testing.FakeServer
) -> None:
    workflow = add_workflow(server, place.action("echo waiting; sleep 1000"))
    async with provisioner(place, server):
        await prints(server, workflow, "waiting")
    async with client.connect(server.address) as caller:
        await caller.workflows.delete(workflow.id)
    async with provisioner(place, server):
        await eventually(lambda: place.says("a run is stopped"), deadline_seconds=SECONDS)
        await is_clear(place)


async def test_an_image_that_is_not_there_fails_the_action_and_says_so(
    place: Place, server: testing.FakeServer
) -> None:
    action = dataclasses.replace(place.action("true"), image="registry.invalid/absent:v1")
    workflow = add_workflow(server, action)
    async with provisioner(place, server):
        await reaches(server, workflow, State.FAILED)
    assert "registry.invalid/absent:v1" in server.world.actions_of(workflow.id)[0].message


@pytest.fixture
def process_place(tmp_path: Path) -> Place:
    return Place(tmp_path, "process")


async def test_a_machine_that_is_not_served_is_left_alone(process_place: Place, server: testing.FakeServer) -> None:
    ours = add_workflow(server, process_place.action("true"))
    theirs = add_workflow(server, dataclasses.replace(process_place.action("true"), worker_id=MACHINES[1]))
    async with provisioner(process_place, server, agent_for=[MACHINES[0]]):
        await reaches(server, ours, State.SUCCEEDED)
    assert server.world.find(Workflow, theirs.id).state is State.PENDING


async def test_a_provisioner_that_the_server_does_not_know_ends_with_a_sentence(process_place: Place) -> None:
    async with (
        testing.FakeServer(token="right") as server,
        provisioner(process_place, server, "--token", "wrong") as it,
    ):
        assert await exit_code(it) == 1
    assert process_place.says("Error")
    assert not process_place.says("Traceback")


async def test_a_provisioner_waits_for_a_server_that_is_not_there_yet(process_place: Place) -> None:
    server = testing.FakeServer()
    await server.start()
    workflow = add_workflow(server, process_place.action("true"))
    await server.stop()
    async with provisioner(process_place, server):
        await eventually(lambda: process_place.says("watch was interrupted"), deadline_seconds=SECONDS)
        await server.start()
        await reaches(server, workflow, State.SUCCEEDED)
    await server.stop()


async def test_processes_are_said_to_be_unisolated(process_place: Place, server: testing.FakeServer) -> None:
    async with provisioner(process_place, server):
        await eventually(lambda: process_place.says("workflows are watched"), deadline_seconds=SECONDS)
    assert process_place.says("processes are not isolated")


async def test_without_an_engine_auto_means_processes(
    process_place: Place, server: testing.FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{process_place.path}/no.sock")
    workflow = add_workflow(server, process_place.action("echo here"))
    async with provisioner(process_place, server, "--runtime", "auto"):
        await reaches(server, workflow, State.SUCCEEDED)
    assert process_place.says("actions run as processes, for want of a Docker Engine")
