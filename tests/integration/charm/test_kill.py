"""An agent of a charm that is killed again and again: each event's effects are there once, and lives stay legal.

CHARM_KILLS=200 kills it as often.
"""

import asyncio
import json
import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest

from support import process
from support.waiting import eventually
from tinkwell.cli.unit import auditing
from tinkwell.client import Client, errors
from tinkwell.core.unit.kinds import EventState

KILLS = int(os.environ.get("CHARM_KILLS", "2"))
SECONDS = 90.0
_HANDLED = "an event is handled"
# It counts the events of each kind in its state, and tells all of that in its bag and in its version.
PROGRAM = """
import asyncio, json
from tinkwell import charm

class Counter(charm.Charm):
    peers = charm.Peer("peers", interface="counter")
    speed = charm.Option(int, default=0)

    @charm.on.install
    @charm.on.start
    @charm.on.config_changed
    @charm.on.leader_elected
    @charm.on.leader_settings_changed
    @peers.created
    @peers.joined
    @peers.changed
    async def count(self, event: charm.Event) -> None:
        self.state[event.kind] = str(int(self.state.get(event.kind, "0")) + 1)
        await asyncio.sleep(0.01)
        if event.kind == "config-changed" and (relation := self.peers.only()):
            relation.unit["n"] = self.state[event.kind]
        self.set_workload_version(json.dumps(dict(self.state)))
"""


@pytest.mark.timeout(240 + 10 * KILLS)
async def test_effects_are_there_once_however_often_the_agent_is_killed(client: Client, tmp_path: Path) -> None:
    program = tmp_path / "counter_charm.py"
    program.write_text(PROGRAM)
    connection = {"TINKWELL_SERVER": client.address}
    run = ("unit", "run", str(program), "--application", "counter", "--state-dir", str(tmp_path / "state"))
    deploy = ("app", "deploy", "counter", str(program), "--to", "anywhere", "--units", "3")
    draw = random.Random(7)
    async with process.running(*deploy, log=tmp_path / "deploy.log", environment=connection) as deploying:
        assert await deploying.wait(deadline_seconds=SECONDS) == 0, deploying.output
    for kill in range(KILLS):
        await client.applications.set_config("counter", {"speed": 2 * kill})
        async with process.running(*run, log=tmp_path / f"{kill}.log", environment=connection) as agent:
            await agent.line(_HANDLED, deadline_seconds=SECONDS)
            await client.applications.set_config("counter", {"speed": 2 * kill + 1})
            # At any moment of what comes after that: at least one event for each unit does.
            wanted = agent.output.count(_HANDLED) + draw.randint(0, 2)
            await eventually(lambda: agent.output.count(_HANDLED) >= wanted, deadline_seconds=SECONDS)  # noqa: B023
            assert await agent.stop(signal.SIGKILL) == -signal.SIGKILL
    async with process.running(*run, log=tmp_path / "last.log", environment=connection) as agent:
        await client.applications.set_config("counter", {"speed": -1})
        await _settle(client)
        assert await agent.stop(deadline_seconds=SECONDS) == 0, agent.output
    async for unit in client.applications.units("counter"):
        events = [each async for each in client.applications.events(unit.name)]
        counted = Counter(str(each.kind) for each in events if each.state is EventState.COMMITTED)
        told = {kind: int(count) for kind, count in json.loads(unit.workload_version).items()}
        assert told == counted
    report = await auditing.audit(client, "default", [])
    assert report.violations == ()


async def _settle(client: Client) -> None:
    """Wait until the units are settled; an event that two kills in a row have lost waits for its operator."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                return await client.applications.settled("counter", timeout_seconds=SECONDS)
            except errors.UnitInError:
                async for unit in client.applications.units("counter"):
                    if unit.event is not None and unit.event.state is EventState.ERROR:
                        await client.applications.resolve(unit.name)
