"""What an event of a charm of ops takes of the processor: the charm's own process, and what is ours beside it."""

import asyncio
import contextlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import process, statistic, usage
from bench.context import Context
from bench.result import Table, Verdict, number
from bench.unit import site
from bench.unit.part import Part
from bench.unit.site import Site

_NAME = "listener"
_SHARE_MS, _RATIO = 8.0, 0.6
COLD, WARM = "cold", "warm"
_OURS = ("PostgreSQL", "server", "agent", "fork server")
_PROGRAM = "charm and its tools"
# Until all is committed that was heard, and a unit that was told is asked once more what it has.
_GRACE_SECONDS = 2.0
_LOOK_SECONDS = 0.1
_COMMITTED = "SELECT count(*) FROM unit_event WHERE state = 'COMMITTED' AND attempt = 1"
_FILES = {
    "metadata.yaml": f"name: {_NAME}\nsummary: Hears of its configuration.\ndescription: And says so.\n",
    "config.yaml": "options:\n  mark: {type: int, default: 0, description: Changed to have an event.}\n",
    "requirements.txt": "ops\n",
    "src/charm.py": """\
#!/usr/bin/env python3
import pathlib

import ops

HEARD = pathlib.Path("{heard}")


class Listener(ops.CharmBase):
    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        framework.observe(self.on.config_changed, self._on_config_changed)

    def _on_config_changed(self, event: ops.ConfigChangedEvent) -> None:
        mark = str(self.config["mark"])
        self.unit.status = ops.ActiveStatus(mark)
        (HEARD / f"{{self.unit.name.replace('/', '-')}}.{{mark}}").touch()


if __name__ == "__main__":
    ops.main(Listener)
""",
}


@dataclass(frozen=True, slots=True)
class _Charm:
    """An application of a charm that leaves a file for each event that it hears; `state` is its agents'."""

    folder: Path
    heard: Path
    state: Path
    units: int


async def measure(context: Context) -> Part:
    """Have all units of an application hear of each of its configurations, by an agent that forks, and one that starts.

    One request leads to as many events as there are units. While they run nobody asks the server or the database how
    far they are.
    """
    units, rounds = context.scale.choose(quick=4, full=16), context.scale.choose(quick=1, full=5)
    charm = _write(context.directory, units)
    found: dict[str, list[dict[str, float]]] = {COLD: [], WARM: []}
    mark = 0
    async with site.opened(context) as stage:
        async with _agent(context, stage, charm, WARM):
            await stage.client.applications.deploy(_NAME, str(charm.folder), units=units, anywhere=True)
            await stage.settled(_NAME)
        for way in statistic.interleave((COLD, WARM), context.scale.pairs):
            async with _agent(context, stage, charm, way) as agent:
                # The first round has the agent take the units over, and its fork server begin.
                for place in range(rounds + 1):
                    mark += 1
                    taken = await _round(stage, agent, charm, mark)
                    if place:
                        found[way].append(taken)
                        context.say(f"unit: ops, {way}: {_said(taken)}")
    return Part((_table(found),), tuple(_verdicts(found)))


def _agent(
    context: Context, stage: Site, charm: _Charm, way: str
) -> contextlib.AbstractAsyncContextManager[process.Program]:
    """Run a provisioner that serves units."""
    arguments = ("--units", "--runtime", "process", "--server", stage.server.address, "--state-dir", str(charm.state))
    options = ("--cold",) if way == COLD else ()
    command = (process.COMMAND, "provisioner", *arguments, *options)
    return process.program(*command, log=context.directory / f"{_NAME}.log")


async def _round(stage: Site, agent: process.Program, charm: _Charm, mark: int) -> dict[str, float]:
    """Have an event of each unit, and return the milliseconds of processor time that each part took for one."""
    committed = await stage.sql.fetchval(_COMMITTED)
    before = _seconds(stage, agent)
    await stage.configure({_NAME: {"mark": mark}})
    await _until_heard(charm, mark)
    await asyncio.sleep(_GRACE_SECONDS)
    after = _seconds(stage, agent)
    told = await stage.sql.fetchval(_COMMITTED) - committed
    if told != charm.units:
        raise process.Failed(f"{told} of {charm.units} events were committed by their first attempts")
    return {part: (after[part] - before.get(part, 0.0)) / told * 1000 for part in after}


async def _until_heard(charm: _Charm, mark: int) -> None:
    """Wait until all units have heard of a configuration; raises `TimeoutError`."""
    async with asyncio.timeout(site.LONGEST_SECONDS):
        heard = 0
        while heard < charm.units:
            await asyncio.sleep(_LOOK_SECONDS)
            heard = len(list(charm.heard.glob(f"*.{mark}")))


def _seconds(stage: Site, agent: process.Program) -> dict[str, float]:
    """Return the processor time that each part has taken so far."""
    pids = stage.processes(agent)
    whole = {part: usage.of(pid).cpu_seconds for part, pid in pids.items()}
    own = usage.own_seconds(agent.pid)
    server = sum(usage.own_seconds(pid) for pid in _fork_servers(agent.pid))
    return {**whole, "agent": own, "fork server": server, _PROGRAM: whole["agent"] - own - server}


def _fork_servers(pid: int) -> list[int]:
    """Return the numbers of an agent's fork servers."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in children if "fork_server.py" in Path(f"/proc/{each}/cmdline").read_text()]


def _said(taken: Mapping[str, float]) -> str:
    return ", ".join(f"{part} {number(ms)} ms" for part, ms in taken.items())


def _table(found: Mapping[str, Sequence[Mapping[str, float]]]) -> Table:
    parts = (*_OURS, _PROGRAM)
    rows = tuple(
        (way, *(number(statistics.median(each[part] for each in rounds)) for part in parts))
        for way, rounds in found.items()
    )
    return Table("Events of a charm of ops, ms of processor for each", ("", *parts), rows)


def _verdicts(found: Mapping[str, Sequence[Mapping[str, float]]]) -> list[Verdict]:
    what = "processor for an event of a charm of ops beside its program and tools"
    ours = {way: [sum(each[part] for part in _OURS) for each in rounds] for way, rounds in found.items()}
    shares = [
        Verdict.of(f"{what}, {way}", statistic.spread(ours[way]), "≤", _SHARE_MS, unit="ms") for way in (COLD, WARM)
    ]
    forked = [each[_PROGRAM] + each["fork server"] for each in found[WARM]]
    started = [each[_PROGRAM] for each in found[COLD]]
    ratio = statistic.ratio(forked, started)
    return [*shares, Verdict.of("an event's program, forked, to one that is started", ratio, "≤", _RATIO)]


def _write(directory: Path, units: int) -> _Charm:
    charm = _Charm(directory / _NAME, directory / f"{_NAME}-heard", directory / f"{_NAME}-state", units)
    charm.heard.mkdir(exist_ok=True)
    for name, text in _FILES.items():
        path = charm.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(heard=charm.heard) if name.endswith(".py") else text)
    (charm.folder / "src/charm.py").chmod(0o755)
    return charm
