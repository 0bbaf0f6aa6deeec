"""Measures one number of releases, each of one resource, with a provisioner whose calls do nothing."""

import asyncio
import sys
from dataclasses import dataclass

from bench import process, usage
from bench.context import Context
from bench.result import number
from bench.scale import disk
from bench.scale.machines import Cpu

_AT_ONCE = 16
# A generator must reply within a fixed time, whatever the size.
_PART = 500
# The provisioner lists unfinished operations every 30 s.
_RESYNC_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Releases:
    """The figures of one size. Times and processor times are in seconds; `…_each` are bytes of a release."""

    releases: int
    seconds: float
    cpu: dict[str, float]
    rows_each: float
    events_each: float
    server_rss: int
    provisioner_rss: int
    get: float
    first: float
    whole: float
    one_more: float
    idle_seconds: float
    idle_cpu: dict[str, float]


async def measure(context: Context, releases: int) -> Releases:
    """Install the releases on a server with an empty database, and read them."""
    rounds, idle = context.scale.choose(quick=(1, 1.0), full=(5, _RESYNC_SECONDS))
    command = (sys.executable, "-m", "bench.release.provisioner")
    state = str(context.directory / f"scale-{releases}")
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        process.program(*command, server.address, state, str(_AT_ONCE), log=context.directory / "scale.log") as worker,
        process.generator("bench.scale.applier", directory=context.directory) as applier,
        process.generator("bench.scale.reader", directory=context.directory) as reader,
    ):
        await worker.line("releases are watched")
        await applier.ask(do="prepare", address=server.address)
        empty, no_events = await disk.used(url)
        cpu = Cpu(context.cluster.pid, server.pid, provisioner=worker.pid)
        seconds = 0.0
        for first in range(0, releases, _PART):
            count = min(_PART, releases - first)
            seconds += (await applier.ask(do="apply", first=first, count=count, at_once=_AT_ONCE))["seconds"]
        spent = cpu.read()
        total, events = await disk.used(url)
        seen = await reader.ask(
            do="read", address=server.address, what="releases", one=f"release-{releases // 2}", rounds=rounds
        )
        more = [
            (await applier.ask(do="apply", first=releases + extra, count=1, at_once=1))["seconds"]
            for extra in range(2 * rounds)
        ]
        cpu = Cpu(context.cluster.pid, server.pid, provisioner=worker.pid)
        await asyncio.sleep(idle)
        resting = cpu.read()
        memory = usage.of(server.pid).rss_bytes, usage.of(worker.pid).rss_bytes
    context.say(f"scale: {releases:,} releases installed in {number(seconds)} s")
    return Releases(
        releases,
        seconds,
        spent,
        (total - empty - (events - no_events)) / releases,
        (events - no_events) / releases,
        *memory,
        seen["get"],
        seen["first"],
        seen["whole"],
        sorted(more)[len(more) // 2],
        idle,
        resting,
    )
