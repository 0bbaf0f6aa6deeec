"""One large transaction while nobody else writes, and while others write a little."""

import asyncio
import contextlib
import time
from collections import defaultdict
from dataclasses import dataclass

from bench import cluster, process, statistic, usage
from bench.context import Context
from bench.load import watch
from bench.result import Outcome, Table, Verdict, number, span

_ALONE, _BESIDE = "alone", "beside the others"
_WRITERS, _WRITES_PER_SECOND = 2, 20
_LONGEST_SECONDS = 600
_LOOK_SECONDS = 0.01
_INSERT = """
    INSERT INTO hardware (id, metadata)
    SELECT gen_random_uuid(), format('{{"state": "provisioning", "facility": {{"facility_code": "lab"}},
                                        "instance": {{"hostname": "node-%s"}}}}', n)::jsonb
      FROM generate_series(1, {machines}) AS n
"""
_COMPARES = f"""\
One transaction inserts machines, and a client watches all machines. The events are written and their revisions drawn
while the transaction commits, which takes seconds; what others commit meanwhile lies between those revisions, and
none of it can be delivered before the transaction has ended. *{_ALONE}* nobody else writes; *{_BESIDE}*
{_WRITERS} writers insert {_WRITES_PER_SECOND} machines a second in all, from before the transaction until everything
has been delivered. What counts is the time from the end of the commit until the watcher has all of it.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds that the transaction took, and from its end to the last of its events; how busy each part was then."""

    written: float
    delivered: float
    others: int
    cores: dict[str, float]


class _Others:
    """Those who write a little meanwhile."""

    def __init__(self, steady: process.Generator | None) -> None:
        self._steady = steady

    async def take(self, do: str) -> int:
        """Return how much they have committed since the last look; `do` is "take" or "stop"."""
        return int((await self._steady.ask(do=do))["commits"]) if self._steady is not None else 0


async def run(context: Context) -> Outcome:
    """Measure."""
    machines = context.scale.choose(quick=10_000, full=200_000)
    samples: dict[str, list[Sample]] = defaultdict(list)
    for name in statistic.interleave((_ALONE, _BESIDE), context.scale.pairs):
        sample = await _sample(context, machines, is_alone=name == _ALONE)
        samples[name].append(sample)
        took = f"written in {number(sample.written)} s, delivered {number(sample.delivered)} s later"
        context.say(f"large, {name}: {took}, beside {sample.others} others")
    return _outcome(machines, samples)


async def _sample(context: Context, machines: int, *, is_alone: bool) -> Sample:
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        process.generator("bench.load.watcher", directory=context.directory) as watcher,
        contextlib.AsyncExitStack() as stack,
    ):
        await watch.begin(watcher, server.address)
        others = _Others(None if is_alone else await _write(context, url, stack))
        began = time.monotonic()
        await cluster.execute(url, _INSERT.format(machines=machines))
        committed = time.monotonic()
        meter = usage.Meter({"PostgreSQL": context.cluster.pid, "server": server.pid, "watcher": watcher.pid})
        # Events come in order: with so many, all of the transaction's are among them.
        beside = await others.take("take")
        seen = await _wait(watcher, machines + beside)
        delivered, cores = time.monotonic() - committed, meter.read()
        beside += await others.take("stop")
        await watch.catch_up(watcher, machines + beside - seen)
        return Sample(committed - began, delivered, beside, cores)


async def _write(context: Context, url: str, stack: contextlib.AsyncExitStack) -> process.Generator:
    """Have others write from now on."""
    steady = await stack.enter_async_context(process.generator("bench.load.steady", directory=context.directory))
    await steady.ask(url=url, writers=_WRITERS, pause_seconds=_WRITERS / _WRITES_PER_SECOND)
    return steady


async def _wait(watcher: process.Generator, events: int) -> int:
    """Return how many events have come once there are so many; raise `process.Failed` when they do not come."""
    seen, began = 0, time.monotonic()
    while seen < events:
        if time.monotonic() - began > _LONGEST_SECONDS:
            raise process.Failed(f"only {seen} of {events} events arrived within {_LONGEST_SECONDS} s")
        await asyncio.sleep(_LOOK_SECONDS)
        seen += (await watcher.ask(do="take"))["events"]
    return seen


def _outcome(machines: int, samples: dict[str, list[Sample]]) -> Outcome:
    delivered = {name: [sample.delivered for sample in taken] for name, taken in samples.items()}
    rows = [
        (
            name,
            span(statistic.spread([sample.written for sample in taken])),
            span(statistic.spread(delivered[name])),
            span(statistic.spread([sample.others for sample in taken])),
            ", ".join(
                f"{part} {number(statistic.spread([sample.cores[part] for sample in taken]).median)}"
                for part in taken[0].cores
            ),
        )
        for name, taken in samples.items()
    ]
    return Outcome(
        title="A large transaction",
        compares=_COMPARES,
        tables=(
            Table(
                f"{machines:,} machines in one transaction",
                ("", "transaction, s", "from its end to the last event, s", "events of others", "cores used"),
                tuple(rows),
            ),
        ),
        verdicts=(
            Verdict.of(
                f"time to deliver a transaction of {machines:,} changes beside {_WRITES_PER_SECOND} others a second,"
                " to that without",
                statistic.ratio(delivered[_BESIDE], delivered[_ALONE]),
                "≤",
                2,
            ),
        ),
    )
