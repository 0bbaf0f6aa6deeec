"""Runs the same image both ways in turn, one at a time and several at once."""

import asyncio
import contextlib
import re
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import tinkwell.client
from bench import process, statistic
from bench.container import image
from bench.context import Context
from bench.result import Outcome, Table, Verdict, number, span

_WIDTHS = (1, 8)
_SECONDS = 120
_POLL_SECONDS = 0.01
_AGENT, _PLAIN = "an action", "docker run --rm"
_RAN = re.compile(r"^ran (\d+) (\d+)$", re.MULTILINE)
_TEMPLATE = f"""\
version: "0.1"
name: container
tasks:
  - name: one
    worker: "{{{{.device_1}}}}"
    actions:
      - name: say
        image: {image.NAME}
        command: [{", ".join(image.COMMAND)}]
"""
_COMPARES = """\
An image of busybox says one word and ends. *An action* is that image in a workflow, run by a provisioner for a server:
from the agent's start, before it reports that the action runs, to its return, when the action's end has been reported,
its output has been sent, and its container is removed. *docker run --rm* is Docker's own program with the same image,
command and network (the default bridge), its output read through a pipe. Where several run at once, the time is that
from the first start to the last end.
"""
_NOTES = (
    (
        "An action holds what the agent tells the server: that it runs, its output, and that it has succeeded, each in"
        " the database before it is answered. Eight workflows are created at once, and an agent begins each when it"
        " hears of it; `docker run` begins all eight at once."
    ),
    "`docker run` starts a process for each run, and the agent does not; the agent mounts the workflow's files.",
)


class Agents:
    """Machines of a provisioner, and the actions that they run."""

    def __init__(self, client: tinkwell.client.Client, running: process.Program, template: str, machines: list[str]):
        self._client = client
        self._running = running
        self._template = template
        self._machines = machines

    async def run(self, width: int) -> float:
        """Run an action on so many machines at once; returns the seconds from the first start to the last end."""
        before = len(self._ran())
        machines = self._machines[:width]
        await asyncio.gather(
            *(self._client.workflows.create(self._template, {"device_1": machine}) for machine in machines)
        )
        ran: list[tuple[int, int]] = []
        while len(ran) < width:
            await asyncio.sleep(_POLL_SECONDS)
            ran = self._ran()[before:]
        return (max(ended for _, ended in ran) - min(began for began, _ in ran)) / 1e9

    def _ran(self) -> list[tuple[int, int]]:
        return [(int(began), int(ended)) for began, ended in _RAN.findall(self._running.log.read_text())]

    async def check(self) -> None:
        """Make sure that every workflow has succeeded. Raises `process.Failed`."""
        async for found in self._client.workflows.list():
            if found.state != "SUCCEEDED":
                raise process.Failed(f"workflow {found.id} ended as {found.state}: {found.cause}")


async def run(context: Context) -> Outcome:
    """Measure."""
    try:
        await image.provide()
    except image.NotPossibleError as error:
        return _outcome((), tuple(Verdict.missing(_what(width), "≤", 1.2, reason=str(error)) for width in _WIDTHS))
    rounds = context.scale.choose(quick=2, full=30)
    rows, verdicts = [], []
    async with _agents(context) as agents:
        for width in _WIDTHS:
            seconds = await _pairs(agents, width=width, rounds=rounds)
            ratio = statistic.ratio(seconds[_AGENT], seconds[_PLAIN])
            context.say(f"container: {width} at once, {number(ratio.median)} × docker run")
            rows.append((f"{width}", *(_milliseconds(seconds[name]) for name in (_AGENT, _PLAIN)), span(ratio)))
            verdicts.append(Verdict.of(_what(width), ratio, "≤", 1.2))
        await agents.check()
    return _outcome((Table(f"{rounds} pairs", ("at once", _AGENT, _PLAIN, "ratio"), tuple(rows)),), tuple(verdicts))


@contextlib.asynccontextmanager
async def _agents(context: Context) -> AsyncIterator[Agents]:
    """Run a server, and a provisioner for all its machines."""
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        machines = [str(uuid.uuid4()) for _ in range(max(_WIDTHS))]
        for machine in machines:
            await client.hardware.push({"id": machine})
        template = (await client.templates.create(_TEMPLATE)).id
        command = (sys.executable, "-m", "bench.container.agent", server.address)
        options = (str(context.directory / "container"), str(max(_WIDTHS)))
        async with process.program(*command, *options, log=context.directory / "container.log") as running:
            await running.line("workflows are watched")
            yield Agents(client, running, template, machines)


def _outcome(tables: tuple[Table, ...], verdicts: tuple[Verdict, ...]) -> Outcome:
    return Outcome(title="Containers", compares=_COMPARES, tables=tables, verdicts=verdicts, notes=_NOTES)


def _what(width: int) -> str:
    return f"time of an action, reports and removal included, to docker run --rm, {width} at once"


async def _pairs(agents: Agents, *, width: int, rounds: int) -> dict[str, list[float]]:
    """Time both ways, pair by pair, after one of each that is not counted."""
    ways: dict[str, Callable[[int], Awaitable[float]]] = {_AGENT: agents.run, _PLAIN: _run_plain}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        await way(width)
    for name in statistic.interleave(tuple(ways), rounds):
        async with asyncio.timeout(_SECONDS):
            seconds[name].append(await ways[name](width))
    return seconds


async def _run_plain(width: int) -> float:
    began = time.perf_counter()
    await asyncio.gather(*(_run_plainly() for _ in range(width)))
    return time.perf_counter() - began


async def _run_plainly() -> None:
    process = await asyncio.create_subprocess_exec(
        *("docker", "run", "--rm", image.NAME, *image.COMMAND), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    if (said, process.returncode) != (b"done\n", 0):
        raise RuntimeError(f"docker run said {said!r} and ended with {process.returncode}")


def _milliseconds(seconds: list[float]) -> str:
    return f"{number(statistic.spread(seconds).median * 1000)} ms"
