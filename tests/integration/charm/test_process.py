"""`tinkwell unit run` as a process, killed while a handler runs, and stopped."""

import asyncio
import signal
from pathlib import Path

import pytest

from support import process, waiting
from tinkwell.client import Client
from tinkwell.core.unit.kinds import EventState

SECONDS = 90.0
PROGRAM = """
import asyncio, os, pathlib, signal
from tinkwell import charm

class Counter(charm.Charm):
    @charm.on.install
    async def install(self, event: charm.Install) -> None:
        self.state["n"] = str(int(self.state.get("n", "0")) + 1)
        marks = pathlib.Path(__file__).parent
        if not (marks / "killed").exists():
            (marks / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    @charm.on.config_changed
    async def config(self, event: charm.ConfigChanged) -> None:
        self.set_workload_version(self.state["n"])

    @charm.on.collect_metrics
    async def slow(self, event: charm.CollectMetrics) -> None:
        self.status = charm.Maintenance("slow")
        while not (pathlib.Path(__file__).parent / "may-end").exists():
            await asyncio.sleep(0.01)
        self.state["slow"] = "done"
        self.status = charm.Active()
"""


@pytest.mark.timeout(240)
async def test_a_killed_agent_is_followed_by_another_and_a_stopped_one_ends_what_it_began(
    client: Client, tmp_path: Path
) -> None:
    program = tmp_path / "counter_charm.py"
    program.write_text(PROGRAM)
    connection = {"TINKWELL_SERVER": client.address}
    run = ("unit", "run", str(program), "--application", "counter", "--state-dir", str(tmp_path / "state"))
    deploy = ("app", "deploy", "counter", str(program), "--to", "anywhere")
    async with process.running(*deploy, log=tmp_path / "deploy.log", environment=connection) as deploying:
        assert await deploying.wait(deadline_seconds=SECONDS) == 0, deploying.output
    async with process.running(*run, log=tmp_path / "first.log", environment=connection) as first:
        assert await first.wait(deadline_seconds=SECONDS) == -signal.SIGKILL, first.output
    async with process.running(*run, log=tmp_path / "second.log", environment=connection) as second:
        await client.applications.settled("counter", timeout_seconds=SECONDS)
        assert (await client.applications.unit("counter/0")).workload_version == "1"
        await client.applications.collect_metrics("counter/0")

        async def is_slow() -> bool:
            return (await client.applications.unit("counter/0")).status.message == "slow"

        await waiting.eventually(is_slow, deadline_seconds=SECONDS)
        stopping = asyncio.ensure_future(second.stop(deadline_seconds=SECONDS))
        await second.line("the agent stops", deadline_seconds=SECONDS)
        (tmp_path / "may-end").touch()
        assert await stopping == 0, second.output
    found = [each async for each in client.applications.events("counter/0")][::-1]
    assert [(each.name, each.attempt, each.state) for each in found] == [
        ("install", 2, EventState.COMMITTED),
        ("leader-elected", 1, EventState.COMMITTED),
        ("config-changed", 1, EventState.COMMITTED),
        ("start", 1, EventState.COMMITTED),
        ("collect-metrics", 1, EventState.COMMITTED),
    ]
