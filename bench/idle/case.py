"""The crowd's memory, and a change that concerns one watcher, with the crowd and without it."""

from collections import defaultdict
from dataclasses import dataclass

from bench import process, statistic, usage
from bench.context import Context
from bench.result import Outcome, Table, Verdict, number, span
from bench.statistic import Latencies

_ALONE, _CROWD = "one watcher", "one watcher beside the idle ones"
_CHANNELS = 20
_COMPARES = """\
A server with thousands of idle watchers, opened over {channels} connections, and one more watcher in another process,
whose machine changes every 30 to 60 ms: from just before the commit to the callback of the client library. In turn
with the same on a server that has only this watcher. Memory is the server's resident memory when all watchers are
live, less that before.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """One server's life: latencies, kilobytes a watcher, and how busy the server was."""

    latencies: Latencies
    kilobytes: float
    cores: float


async def run(context: Context) -> Outcome:
    """Measure."""
    watchers = context.scale.choose(quick=500, full=10_000)
    samples: dict[str, list[Sample]] = defaultdict(list)
    for name in statistic.interleave((_ALONE, _CROWD), context.scale.pairs):
        sample = await _sample(context, watchers if name == _CROWD else 0)
        samples[name].append(sample)
        median = number(sample.latencies.percentile(0.5) * 1000)
        context.say(f"idle, {name}: p50 {median} ms, {number(sample.kilobytes)} KB each")
    return _outcome(watchers, samples)


async def _sample(context: Context, watchers: int) -> Sample:
    changes = context.scale.choose(quick=20, full=100)
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        process.generator("bench.load.pinger", directory=context.directory) as pinger,
        process.generator("bench.load.crowd", directory=context.directory) as crowd,
    ):
        await pinger.ask(address=server.address, url=url, changes=5)
        before = usage.of(server.pid).rss_bytes
        if watchers:
            # With the one in the other process there are as many as a server takes.
            await crowd.ask(address=server.address, watchers=watchers - 1, channels=_CHANNELS)
        grown = usage.of(server.pid).rss_bytes - before
        meter = usage.Meter({"server": server.pid})
        answer = await pinger.ask(address=server.address, url=url, changes=changes)
        return Sample(Latencies.parse(answer["latencies"]), grown / max(watchers, 1) / 1000, meter.read()["server"])


def _outcome(watchers: int, samples: dict[str, list[Sample]]) -> Outcome:
    medians = {name: [sample.latencies.percentile(0.5) for sample in taken] for name, taken in samples.items()}
    each = statistic.spread([sample.kilobytes for sample in samples[_CROWD]])
    rows = [
        (
            name,
            span(statistic.spread(medians[name]), scale=1000),
            span(statistic.spread([sample.latencies.percentile(0.99) for sample in taken]), scale=1000),
            number(statistic.spread([sample.cores for sample in taken]).median),
        )
        for name, taken in samples.items()
    ]
    return Outcome(
        title="Idle watchers",
        compares=_COMPARES.format(channels=_CHANNELS),
        tables=(Table(f"{watchers:,} idle watchers", ("", "p50, ms", "p99, ms", "server, cores"), tuple(rows)),),
        verdicts=(
            Verdict.of(f"memory of the server for each of {watchers:,} idle watchers", each, "≤", 60, unit="KB"),
            Verdict.of(
                f"p50 of an event for one watcher beside {watchers:,} idle ones, to p50 with one watcher",
                statistic.ratio(medians[_CROWD], medians[_ALONE]),
                "≤",
                1.2,
            ),
        ),
        notes=("An idle watcher still receives bookmarks, which is what keeps the server busy.",),
    )
