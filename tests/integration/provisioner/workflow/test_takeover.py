"""Several provisioners, as processes that are killed and stopped, with the real server and real runs."""

import asyncio
import contextlib
import signal
import uuid
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tinkwell.client
from support import server as support
from support.process import COMMAND
from support.waiting import eventually
from tinkwell.client import Client, State

SECONDS = 60.0
# Long enough to be renewed in time on a busy machine, and short enough to wait for its end.
LEASE_SECONDS = 3.0
# Nobody waits for the end of this one.
LONG_SECONDS = 3600.0
# Each run leaves a line at its start and at its end, and ends when it may.
SCRIPT = "cd {}; echo begin $TINKWELL_ACTION_ID >>effects; until [ -e go ]; do sleep 0.05; done; echo end >>effects"
TEMPLATE = """\
version: "0.1"
name: {name}
tasks:
  - name: only
    worker: "{{{{.device_1}}}}"
    actions: [{actions}]
"""
ACTION = '{{name: step {0}, image: shell, command: ["{1}"]}}'


@dataclass
class Place:
    """A machine's files, a server, and the provisioners that are started beside it."""

    path: Path
    client: Client
    address: str
    processes: list[Process] = field(default_factory=list)

    async def provision(self, state: str, *command: str) -> Process:
        """Run a provisioner with a state directory, which several may have."""
        options = ["--server", self.address, "--runtime", "process", "--state-dir", str(self.path / state)]
        options += ["--process-images", str(self.path / "images"), "--resync-seconds", "1"]
        chosen = command or ("provisioner", "--agent-for", "all")
        with (self.path / "stderr").open("ab") as stderr:
            process = await asyncio.create_subprocess_exec(COMMAND, *chosen, *options, stderr=stderr)
        self.processes.append(process)
        return process

    async def create(self, template: str, machine: str) -> str:
        return (await self.client.workflows.create(template, {"device_1": machine})).id

    async def machine(self) -> str:
        machine = str(uuid.uuid4())
        await self.client.hardware.push({"id": machine})
        return machine

    async def reaches(self, workflow_id: str, state: State) -> None:
        async def is_there() -> bool:
            return (await self.client.workflows.get(workflow_id)).state is state

        await eventually(is_there, deadline_seconds=SECONDS, interval_seconds=0.1)

    def effects(self, kind: str = "begin") -> list[str]:
        """What runs have left, in order."""
        path = self.path / "effects"
        return [line for line in path.read_text().splitlines() if line.startswith(kind)] if path.exists() else []

    def runs(self, state: str) -> list[Path]:
        return list((self.path / state / "runs").iterdir())

    def go(self) -> None:
        """Let all runs end."""
        (self.path / "go").touch()

    def says(self, text: str) -> bool:
        return text in " ".join((self.path / "stderr").read_text().split())

    def claims(self, state: str) -> dict[str, int]:
        """The attempts that are claimed, and the inodes of the lock files that their claims are links to."""
        return {path.name: path.stat().st_ino for path in (self.path / state / "claims").glob("*.1")}


@contextlib.asynccontextmanager
async def at(path: Path, address: str) -> AsyncIterator[Place]:
    """Prepare a place; whatever runs there in the end is killed."""
    entry_point = path / "images" / "shell" / "run"
    entry_point.parent.mkdir(parents=True)
    entry_point.write_text('#!/bin/sh\nexec /bin/sh -c "$1"\n')
    entry_point.chmod(0o755)
    async with tinkwell.client.connect(address) as client:
        place = Place(path, client, address)
        for name, steps in (("one", 1), ("two", 2)):
            actions = ", ".join(ACTION.format(number, SCRIPT.format(path)) for number in range(steps))
            await client.templates.create(TEMPLATE.format(name=name, actions=actions))
        try:
            yield place
        finally:
            for process in place.processes:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            place.go()  # what still runs, ends


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[Place]:
    async with (
        support.running(database_url, lease_seconds=LEASE_SECONDS) as server,
        at(tmp_path, server.address) as place,
    ):
        yield place


async def test_two_that_share_a_state_directory_and_an_agent_do_all_work_once_though_one_is_killed(
    place: Place,
) -> None:
    machines = [await place.machine() for _ in range(8)]
    # Neither of them has places for all, so that both get some.
    sharing = ("provisioner", "--agent-for", "all", "--concurrency", "5")
    first = await place.provision("shared", *sharing)
    await place.provision("shared", *sharing)
    await place.provision("own", "agent", "--id", machines[0])
    workflows = [await place.create("two", machine) for machine in machines]
    await eventually(lambda: len(place.effects()) == len(machines), deadline_seconds=SECONDS)
    # The next ones find places with both.
    lock = (place.path / "shared" / "lock").stat().st_ino
    first_of = {name for name, owner in place.claims("shared").items() if owner == lock}
    assert place.runs("shared")
    assert len(first_of) < len(machines)
    first.kill()
    await first.wait()
    place.go()
    for workflow in workflows:
        await place.reaches(workflow, State.SUCCEEDED)
    assert len(set(place.effects())) == len(place.effects()) == 2 * len(machines)
    await eventually(lambda: not place.runs("shared"), deadline_seconds=SECONDS)
    for workflow in workflows:
        states = [entry.state async for entry in place.client.workflows.events(workflow)]
        assert states == [State.RUNNING, State.SUCCEEDED] * 2


async def test_who_was_taken_for_dead_has_its_reports_refused_and_its_run_discarded(place: Place) -> None:
    machine = await place.machine()
    former = await place.provision("former")
    lost = await place.create("one", machine)
    await eventually(lambda: len(place.effects()) == 1, deadline_seconds=SECONDS)
    former.send_signal(signal.SIGSTOP)
    await place.provision("elsewhere")
    following = await place.create("one", machine)
    await place.reaches(lost, State.FAILED)
    assert "lost" in (await place.client.workflows.actions(lost))[0].message
    await eventually(lambda: len(place.effects()) == 2, deadline_seconds=SECONDS)
    former.send_signal(signal.SIGCONT)
    await eventually(lambda: not place.runs("former"), deadline_seconds=SECONDS)
    assert place.effects("end") == []
    place.go()
    await place.reaches(following, State.SUCCEEDED)
    assert len(place.effects("end")) == 1
    assert (await place.client.workflows.get(lost)).state is State.FAILED


async def test_a_lease_that_ends_while_the_server_is_away_lives_on_with_what_runs(
    database_url: str, tmp_path: Path
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with support.running(database_url, lease_seconds=1) as server:
            place = await stack.enter_async_context(at(tmp_path, server.address))
            await place.provision("state")
            workflow = await place.create("one", await place.machine())
            await eventually(lambda: len(place.effects()) == 1, deadline_seconds=SECONDS)
        await eventually(lambda: place.says("the lease is over"), deadline_seconds=SECONDS)
        place.go()
        await eventually(lambda: len(place.effects("end")) == 1, deadline_seconds=SECONDS)
        port = int(server.address.rpartition(":")[2])
        async with support.running(database_url, lease_seconds=1, port=port):
            await place.reaches(workflow, State.SUCCEEDED)
    assert len(place.effects()) == 1


async def test_who_comes_back_has_what_it_ran_at_once_and_makes_up_for_what_it_has_not_released(
    database_url: str, tmp_path: Path
) -> None:
    async with (
        support.running(database_url, lease_seconds=LONG_SECONDS) as server,
        at(tmp_path, server.address) as place,
    ):
        machines = [await place.machine() for _ in range(2)]
        first = await place.provision("state")
        adopted, cancelled = [await place.create("one", machine) for machine in machines]
        await eventually(lambda: len(place.effects()) == 2, deadline_seconds=SECONDS)
        first.send_signal(signal.SIGSTOP)
        await place.client.workflows.cancel(cancelled)
        following = await place.create("one", machines[1])
        # Its lease is alive, and so is what ran there.
        other = await place.provision("elsewhere")
        await eventually(lambda: (tmp_path / "elsewhere" / "instance").exists(), deadline_seconds=SECONDS)
        context = await place.client.workflows.context(following)
        assert context.waits_for_workflow == cancelled
        other.kill()
        first.kill()
        await asyncio.gather(first.wait(), other.wait())
        await place.provision("state")
        await eventually(lambda: len(place.effects()) == 3, deadline_seconds=SECONDS)
        assert place.says("machines are released")
        place.go()
        for workflow in (adopted, following):
            await place.reaches(workflow, State.SUCCEEDED)
        await eventually(lambda: not place.runs("state"), deadline_seconds=SECONDS)
    # The run of the cancelled one was killed before its end.
    assert (len(place.effects()), len(place.effects("end"))) == (3, 2)
