"""What the server, PostgreSQL and the agent take of the processor for an event of a charm of ops, beside the charm."""

import functools
from pathlib import Path

from bench import process, statistic, usage
from bench.context import Context
from bench.result import Table, Verdict, number
from bench.unit import site
from bench.unit.part import Part
from bench.unit.site import Site

_NAME = "listener"
_BOUND_MS = 8.0
_FILES = {
    "metadata.yaml": f"name: {_NAME}\nsummary: Hears of its configuration.\ndescription: And says so.\n",
    "config.yaml": "options:\n  mark: {type: int, default: 0, description: Changed to have an event.}\n",
    "requirements.txt": "ops\n",
    "src/charm.py": """\
#!/usr/bin/env python3
import ops


class Listener(ops.CharmBase):
    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        framework.observe(self.on.config_changed, self._on_config_changed)

    def _on_config_changed(self, event: ops.ConfigChangedEvent) -> None:
        self.unit.status = ops.ActiveStatus(str(self.config["mark"]))


if __name__ == "__main__":
    ops.main(Listener)
""",
}


async def measure(context: Context) -> Part:
    """Measure events of one unit, each of which waits for the former one."""
    events = context.scale.choose(quick=3, full=50)
    async with site.opened(context) as stage:
        charm, state = context.directory / _NAME, context.directory / f"{_NAME}-state"
        _write(charm)
        arguments = ("--units", "--runtime", "process", "--server", stage.server.address, "--state-dir", str(state))
        command = (process.COMMAND, "provisioner", *arguments)
        async with process.program(*command, log=context.directory / f"{_NAME}.log") as agent:
            await stage.client.applications.deploy(_NAME, str(charm), anywhere=True)
            await stage.settled(_NAME)
            rounds = [await _one(stage, agent, mark) for mark in range(1, events + 1)]
    return Part((_table(rounds),), (_verdict(rounds),))


async def _one(stage: Site, agent: process.Program, mark: int) -> dict[str, float]:
    """Have one event, and return the milliseconds of processor time that each part took for it."""
    before = usage.own_seconds(agent.pid)
    configure = functools.partial(stage.configure, {_NAME: {"mark": mark}})
    told = await stage.told(stage.processes(agent), configure, 1)
    await stage.settled(_NAME)
    own = (usage.own_seconds(agent.pid) - before) * 1000
    found = told.milliseconds
    return {**found, "agent": own, "charm and its tools": found["agent"] - own}


def _table(rounds: list[dict[str, float]]) -> Table:
    medians = [number(statistic.spread([each[part] for each in rounds]).median) for part in rounds[0]]
    return Table("Events of a charm of ops, ms of processor for each", tuple(rounds[0]), (tuple(medians),))


def _verdict(rounds: list[dict[str, float]]) -> Verdict:
    ours = [sum(each[part] for part in ("PostgreSQL", "server", "agent")) for each in rounds]
    what = "processor for an event of a charm of ops: agent, server and PostgreSQL"
    return Verdict.of(what, statistic.spread(ours), "≤", _BOUND_MS, unit="ms")


def _write(folder: Path) -> None:
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "src/charm.py").chmod(0o755)
