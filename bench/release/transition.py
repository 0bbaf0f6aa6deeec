"""How fast a provisioner takes nodes through their states, beside actions of workflows, where calls do nothing."""

import contextlib
import sys
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from bench import cluster, process, statistic, usage
from bench.context import Context
from bench.release.part import Part
from bench.result import Table, number, span
from bench.throughput import side

_RELEASES = side.LANES
_RESOURCES = side.ACTIONS
_NODES, _ACTIONS = "releases", "workflows"
_MOVES = "SELECT count(*) FROM events WHERE event_type IN ('NODE_STARTED', 'NODE_READY')"
_CALLS = "SELECT count(*) FROM events WHERE event_type = 'STEP_SUCCEEDED'"


@dataclass(frozen=True, slots=True)
class _Sample:
    """Transitions of nodes and actions in a second, and milliseconds of processor time for each action by part."""

    moves: float
    actions: float
    milliseconds: Mapping[str, float]


async def measure(context: Context) -> Part:
    """Measure both in turn."""
    rounds = context.scale.choose(quick=1, full=5)
    nodes: list[_Sample] = []
    actions: list[side.Sample] = []
    for way in statistic.interleave((_NODES, _ACTIONS), context.scale.pairs):
        if way == _NODES:
            nodes.append(await _measure(context, rounds=rounds))
        else:
            actions.append(await side.measure(context, side.TINKWELL, rounds=rounds))
    moves = statistic.spread([found.moves for found in nodes])
    context.say(f"release: {number(moves.median)} transitions of nodes in a second")
    parts = tuple(nodes[0].milliseconds)
    costs = tuple(number(statistic.spread([found.milliseconds[part] for found in nodes]).median) for part in parts)
    rows = (
        (_NODES, span(moves), span(statistic.spread([found.actions for found in nodes])), *costs),
        (_ACTIONS, "–", *side.row(actions)),
    )
    header = ("", "transitions/s of nodes", "actions/s", *(f"{part}, ms an action" for part in parts))
    title = f"{_RELEASES} releases of {_RESOURCES} resources beside as many lanes of workflows"
    return Part(Table(title, header, rows))


async def _measure(context: Context, *, rounds: int) -> _Sample:
    """Change all releases so many times, after one that is not counted. Raises `process.Failed`."""
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(context.cluster.database())
        server = await stack.enter_async_context(process.server(url, directory=context.directory))
        worker = await stack.enter_async_context(_provisioner(context, server.address))
        source = await stack.enter_async_context(process.generator("bench.release.source", directory=context.directory))
        await source.ask(do="prepare", address=server.address, releases=_RELEASES, resources=_RESOURCES)
        await source.ask(do="run", rounds=1)
        before = await _count(url, _MOVES), await _count(url, _CALLS)
        meter = usage.Meter(
            {
                "PostgreSQL": context.cluster.pid,
                "server": server.pid,
                "provisioner": worker.pid,
                "client": source.pid,
            }
        )
        began = time.perf_counter()
        await source.ask(do="run", rounds=rounds)
        seconds = time.perf_counter() - began
        cores = meter.read()
        moves, actions = await _count(url, _MOVES) - before[0], await _count(url, _CALLS) - before[1]
    if moves != 2 * actions or actions != rounds * _RELEASES * _RESOURCES:
        raise process.Failed(f"{moves} transitions and {actions} actions are not what was wanted")
    milliseconds = {part: share * seconds / actions * 1000 for part, share in cores.items()}
    return _Sample(moves / seconds, actions / seconds, milliseconds)


@contextlib.asynccontextmanager
async def _provisioner(context: Context, address: str) -> AsyncIterator[process.Program]:
    directory = context.directory / "noop"
    command = (sys.executable, "-m", "bench.release.provisioner", address, str(directory), str(_RELEASES))
    async with process.program(*command, log=context.directory / "noop.log") as running:
        await running.line("releases are watched")
        yield running


async def _count(url: str, query: str) -> int:
    found = await cluster.fetch_value(url, query)
    assert isinstance(found, int)
    return found
