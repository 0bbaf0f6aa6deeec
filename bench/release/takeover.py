"""How long after the sudden death of a provisioner the next container of its operation is started."""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import tinkwell.client
from bench import process, statistic
from bench.context import Context
from bench.release import resource, site
from bench.release.part import Part
from bench.result import Table, Verdict, number, span

LEASE_SECONDS = 5
BOUND = LEASE_SECONDS + 2
_NUMBERS = itertools.count()
_NEIGHBOUR, _ELSEWHERE, _SUCCESSOR = "a neighbour on the same engine", "one on another engine", "its own successor"
# What is asked of each way to be taken over.
WHATS = {
    way: f"from kill -9 of a provisioner to the next container's start by {way}, with a lease of {LEASE_SECONDS} s"
    for way in (_NEIGHBOUR, _ELSEWHERE, _SUCCESSOR)
}


async def measure(context: Context) -> Part:
    """Kill the owner of an operation again and again, each time with somebody else to take it over."""
    rounds = context.scale.choose(quick=1, full=context.scale.pairs)
    seconds: dict[str, list[float]] = {way: [] for way in WHATS}
    async with (
        context.cluster.database() as url,
        process.server(
            url, directory=context.directory, settings={"TINKWELL_LEASE_SECONDS": str(LEASE_SECONDS)}
        ) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        for counted, way in enumerate(statistic.interleave(tuple(seconds), rounds)):
            seconds[way].append(await _kill(context, client, server.address, way, number=counted))
    found = {way: statistic.spread(taken) for way, taken in seconds.items()}
    context.say(f"release: the next container starts {number(found[_NEIGHBOUR].median)} s after a death")
    table = Table(
        f"The next container after kill -9, {rounds} rounds",
        ("taken over by", "seconds"),
        tuple((way, span(taken)) for way, taken in found.items()),
    )
    verdicts = (Verdict.of(WHATS[way], taken, "≤", BOUND, unit="s") for way, taken in found.items())
    return Part(table, tuple(verdicts))


async def _kill(context: Context, client: tinkwell.client.Client, address: str, way: str, *, number: int) -> float:
    """Kill who has just started a container, and return the seconds to the next container's start."""
    state_dir = context.directory / f"takeover-{number}"
    async with contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(_provisioner(context, address, state_dir))
        asked_at = time.time()
        begun = await client.releases.apply(f"takeover-{number}", manifest=resource.sleeping_manifest())
        starts = await stack.enter_async_context(_starts(context, begun.operation.release_id, since=asked_at))
        await starts.wait_for(2)  # `init`, and the state, which takes longer than all of this
        if way != _SUCCESSOR:
            other = state_dir if way == _NEIGHBOUR else context.directory / f"elsewhere-{number}"
            await stack.enter_async_context(_provisioner(context, address, other))
        killed = time.time_ns()
        os.kill(first.pid, signal.SIGKILL)
        if way == _SUCCESSOR:
            await stack.enter_async_context(_provisioner(context, address, state_dir))
        third = await starts.wait_for(3)
        await client.releases.cancel(begun.id, now=True)
        async with asyncio.timeout(site.LONGEST_SECONDS):
            await client.releases.wait(begun.id)
    return (third - killed) / 1e9


class _Starts:
    """The moments in nanoseconds at which containers of a release were started, by the engine's account."""

    def __init__(self, log: Path) -> None:
        self._log = log

    async def wait_for(self, count: int) -> int:
        """Wait for so many starts, and return the moment of the last one. Raises `TimeoutError`."""
        await site.until(lambda: len(self._log.read_text().split()) >= count)
        return int(self._log.read_text().split()[count - 1])


@contextlib.asynccontextmanager
async def _starts(context: Context, release_id: str, *, since: float) -> AsyncIterator[_Starts]:
    """Follow what the engine tells of a release, and remove in the end what is left of it there."""
    docker = shutil.which("docker")
    assert docker is not None, "the image was made by it"
    label = f"label=tinkwell.release={release_id}"
    options = ("--since", str(since), "--filter", "event=start", "--filter", label, "--format", "{{.TimeNano}}")
    log = context.directory / f"{release_id}.log"
    try:
        async with process.program(docker, "events", *options, log=log):
            yield _Starts(log)
    finally:
        left = (await site.output("docker", "ps", "--all", "--quiet", "--filter", label)).split()
        if left:
            await site.output("docker", "rm", "--force", *left)


@contextlib.asynccontextmanager
async def _provisioner(context: Context, address: str, state_dir: Path) -> AsyncIterator[process.Program]:
    """Run a provisioner until the block ends, which it may not live to see."""
    options = ("--server", address, "--releases", "all", "--runtime", "docker", "--state-dir", str(state_dir))
    log = context.directory / f"provisioner-{next(_NUMBERS)}.log"
    async with process.program(process.COMMAND, "provisioner", *options, log=log) as running:
        await running.line("releases are watched")
        yield running
