"""Runs the same image both ways in turn, one at a time and several at once."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import Awaitable, Callable

from bench import statistic
from bench.container import image
from bench.context import Context
from bench.result import Outcome, Table, Verdict, number, span
from tinkwell.core.decide import RunKey
from tinkwell.provisioner import state
from tinkwell.provisioner.runtime import docker, port

_WIDTHS = (1, 8)
_SECONDS = 120
_RUNTIME, _PLAIN = "docker runtime", "docker run --rm"
_COMPARES = """\
An image of busybox says one word and ends. *docker runtime* is what an agent does with an action between its reports:
create and start the container, read its output and wait for its end at the same time, remove it. *docker run --rm* is
Docker's own program with the same image, command and network (the default bridge), its output read through a pipe. Both
are timed from outside, in turning order; where several run at once, until the last has ended.
"""
_NOTES = (
    "Reports to a server are left out: they run beside nothing else here, and `dispatch` has their figures.",
    "`docker run` starts a process for each run, and the runtime does not; the runtime mounts the workflow's files.",
)


async def run(context: Context) -> Outcome:
    """Measure."""
    try:
        await image.provide()
    except image.NotPossibleError as error:
        return _outcome((), tuple(Verdict.missing(_what(width), "≤", 1.2, reason=str(error)) for width in _WIDTHS))
    rounds = context.scale.choose(quick=2, full=30)
    rows, verdicts = [], []
    with contextlib.closing(state.StateDir.open(context.directory / "state")) as directory:
        runtime = await docker.DockerRuntime.connect(directory, concurrency=max(_WIDTHS))
        try:
            for width in _WIDTHS:
                seconds = await _pairs(runtime, width=width, rounds=rounds)
                ratio = statistic.ratio(seconds[_RUNTIME], seconds[_PLAIN])
                context.say(f"container: {width} at once, {number(ratio.median)} × docker run")
                rows.append((f"{width}", *(_milliseconds(seconds[name]) for name in (_RUNTIME, _PLAIN)), span(ratio)))
                verdicts.append(Verdict.of(_what(width), ratio, "≤", 1.2))
        finally:
            await runtime.close()
    return _outcome((Table(f"{rounds} pairs", ("at once", _RUNTIME, _PLAIN, "ratio"), tuple(rows)),), tuple(verdicts))


def _outcome(tables: tuple[Table, ...], verdicts: tuple[Verdict, ...]) -> Outcome:
    return Outcome(title="Containers", compares=_COMPARES, tables=tables, verdicts=verdicts, notes=_NOTES)


def _what(width: int) -> str:
    return f"time of a run through the docker runtime to docker run --rm, {width} at once"


async def _pairs(runtime: docker.DockerRuntime, *, width: int, rounds: int) -> dict[str, list[float]]:
    """Time both ways, pair by pair, after one of each that is not counted."""
    ways: dict[str, Callable[[], Awaitable[None]]] = {_RUNTIME: lambda: _run(runtime), _PLAIN: _run_plainly}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        await way()
    for name in statistic.interleave(tuple(ways), rounds):
        began = time.perf_counter()
        async with asyncio.timeout(_SECONDS):
            await asyncio.gather(*(ways[name]() for _ in range(width)))
        seconds[name].append(time.perf_counter() - began)
    return seconds


async def _run(runtime: docker.DockerRuntime) -> None:
    spec = port.RunSpec(
        key=RunKey(str(uuid.uuid4()), str(uuid.uuid4()), 1),
        worker_id="machine",
        task_name="task",
        action_name="action",
        image=image.NAME,
        command=image.COMMAND,
    )
    started = await runtime.start(spec)
    lines, ending = await asyncio.gather(_texts(started), started.wait())
    await started.remove()
    if (lines, ending.code) != (["done"], 0):
        raise RuntimeError(f"the run said {lines} and ended with {ending.code}")


async def _texts(started: port.Run) -> list[str]:
    async with contextlib.aclosing(started.lines()) as lines:
        return [line.text async for line in lines]


async def _run_plainly() -> None:
    process = await asyncio.create_subprocess_exec(
        *("docker", "run", "--rm", image.NAME, *image.COMMAND), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    if (said, process.returncode) != (b"done\n", 0):
        raise RuntimeError(f"docker run said {said!r} and ended with {process.returncode}")


def _milliseconds(seconds: list[float]) -> str:
    return f"{number(statistic.spread(seconds).median * 1000)} ms"
