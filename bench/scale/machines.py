"""Measures one number of machines, with watchers of all of them."""

import json
import time
from dataclasses import dataclass

from bench import process, usage
from bench.bulk import case as bulk
from bench.context import Context
from bench.load import watch
from bench.result import number
from bench.scale import disk
from bench.statistic import Latencies

_CHANNELS = 20


@dataclass(frozen=True, slots=True)
class Machines:
    """The figures of one size. Times and processor times are in seconds; `…_each` are bytes of a machine."""

    machines: int
    watchers: int
    pushed: float
    cpu: dict[str, float]
    rows_each: float
    events_each: float
    rss_before: int
    rss_pushed: int
    rss_replayed: int
    rss_watched: int
    get: float
    first: float
    whole: float
    replayed: float
    latencies: Latencies


async def measure(context: Context, machines: int, watchers: int) -> Machines:
    """Push the machines to a server with an empty database, then read and watch them."""
    file = context.directory / "scale.jsonl"
    file.write_text("".join(bulk.machine(place) for place in range(machines)))
    changes, rounds = context.scale.choose(quick=(10, 1), full=(100, 5))
    one = json.loads(bulk.machine(machines // 2))["id"]
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        process.generator("bench.scale.reader", directory=context.directory) as reader,
        process.generator("bench.load.replayer", directory=context.directory) as replayer,
        process.generator("bench.load.watcher", directory=context.directory) as watcher,
        process.generator("bench.load.pinger", directory=context.directory) as pinger,
    ):
        empty, no_events = await disk.used(url)
        before, cpu = usage.of(server.pid), Cpu(context.cluster.pid, server.pid)
        began = time.perf_counter()
        await bulk.push(file, server.address)
        pushed, spent = time.perf_counter() - began, cpu.read()
        after_push = usage.of(server.pid)
        total, events = await disk.used(url)
        seen = await reader.ask(do="read", address=server.address, what="hardware", one=one, rounds=rounds)
        replayed = (await replayer.ask(do="stub", address=server.address, events=machines))["seconds"]
        after_replay = usage.of(server.pid)
        await watch.begin(watcher, server.address, watchers=watchers, channels=min(_CHANNELS, watchers))
        answer = await pinger.ask(address=server.address, url=url, changes=changes)
        watched = usage.of(server.pid)
    context.say(f"scale: {machines:,} machines pushed in {number(pushed)} s")
    return Machines(
        machines,
        watchers,
        pushed,
        spent,
        (total - empty - (events - no_events)) / machines,
        (events - no_events) / machines,
        before.rss_bytes,
        after_push.rss_bytes,
        after_replay.rss_bytes,
        watched.rss_bytes,
        seen["get"],
        seen["first"],
        seen["whole"],
        replayed,
        Latencies.parse(answer["latencies"]),
    )


class Cpu:
    """The processor time of PostgreSQL, a server and other named processes since this object was made."""

    def __init__(self, postgres: int, server: int, **others: int) -> None:
        self._pids = {"PostgreSQL": postgres, "server": server} | others
        self._before = {name: usage.of(pid).cpu_seconds for name, pid in self._pids.items()}

    def read(self) -> dict[str, float]:
        """Return the seconds of each process, its children included."""
        return {name: usage.of(pid).cpu_seconds - self._before[name] for name, pid in self._pids.items()}
