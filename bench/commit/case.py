"""Runs the three schemas in turn, at full speed, and judges their ratios."""

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass

from bench import pgbench, process, statistic, usage
from bench.commit.variant import VARIANTS
from bench.context import Context
from bench.result import Outcome, Table, Verdict, number, span

_CLIENTS = 32
_CATCH_UP_SECONDS = 60
_COMPARES = """\
One machine is inserted per transaction into `hardware`, through all of Tinkwell's triggers, by pgbench with prepared
statements. A server with one watcher of all these events is attached in every variant: *bell* is Tinkwell as it is;
*no notification* lacks the bell's trigger, and its server's reader only polls; *NOTIFY each* has a trigger that
notifies, without payload, in every transaction.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: commits a second, seconds until the last event was delivered, and cores used by each part."""

    rate: float
    behind_seconds: float
    cores: dict[str, float]


async def run(context: Context) -> Outcome:
    """Measure."""
    seconds = context.scale.choose(quick=1, full=3)
    samples: dict[str, list[Sample]] = defaultdict(list)
    for name in statistic.interleave(tuple(VARIANTS), context.scale.pairs):
        samples[name].append(await _sample(context, name, clients=_CLIENTS, seconds=seconds))
        context.say(f"commit, {_CLIENTS} clients, {name}: {number(samples[name][-1].rate)} commits/s")
    rates = {name: [sample.rate for sample in taken] for name, taken in samples.items()}
    return Outcome(
        title="Commit throughput",
        compares=_COMPARES,
        tables=(_table(f"{_CLIENTS} clients", samples),),
        verdicts=(
            Verdict.of(
                f"commits/s with the bell to those without notification, {_CLIENTS} clients",
                statistic.ratio(rates["bell"], rates["no notification"]),
                "≥",
                0.85,
            ),
            Verdict.of(
                f"commits/s with the bell to those with NOTIFY each, {_CLIENTS} clients",
                statistic.ratio(rates["bell"], rates["NOTIFY each"]),
                "≥",
                3,
            ),
        ),
    )


async def _sample(context: Context, name: str, *, clients: int, seconds: int) -> Sample:
    async with (
        VARIANTS[name].served(context.cluster, context.directory) as (url, server),
        process.generator("bench.load.watcher", directory=context.directory) as watcher,
    ):
        await watcher.ask(address=server.address, watchers=1, stamp="", resource_type="RESOURCE_TYPE_HARDWARE")
        meter = usage.Meter({"PostgreSQL": context.cluster.pid, "server": server.pid, "watcher": watcher.pid})
        written = await pgbench.write_machines(
            context.cluster, url, clients=clients, seconds=seconds, directory=context.directory
        )
        cores = meter.read() | {"pgbench": written.cpu_seconds / seconds}
        behind = await _catch_up(watcher, written.transactions)
    return Sample(written.commits_per_second, behind, cores)


async def _catch_up(watcher: process.Generator, events: int) -> float:
    """Wait until all events have been delivered, and return how long that took. Raises `process.Failed`."""
    began = time.monotonic()
    delivered = 0
    while (delivered := delivered + (await watcher.ask(do="take"))["events"]) < events:
        if time.monotonic() - began > _CATCH_UP_SECONDS:
            raise process.Failed(f"{delivered} of {events} events were delivered in {_CATCH_UP_SECONDS} s")
        await asyncio.sleep(0.01)
    if delivered > events:
        raise process.Failed(f"{delivered} events were delivered for {events} commits")
    return time.monotonic() - began


def _table(title: str, samples: dict[str, list[Sample]]) -> Table:
    parts = list(next(iter(samples.values()))[0].cores)
    rows = [
        (
            name,
            span(statistic.spread([sample.rate for sample in taken])),
            span(statistic.spread([sample.behind_seconds for sample in taken]), scale=1000),
            *(number(statistic.spread([sample.cores[part] for sample in taken]).median) for part in parts),
        )
        for name, taken in samples.items()
    ]
    header = ("", "commits/s", "last event after the end, ms", *(f"{part}, cores" for part in parts))
    return Table(title, header, tuple(rows))
