"""Fan-out with `--workers 1` and `--workers 2`, in turn."""

import asyncio
import contextlib
from collections import defaultdict
from dataclasses import dataclass

from bench import pgbench, process, statistic, usage
from bench.context import Context
from bench.load import watch
from bench.result import Outcome, Table, number, span

_WATCHERS = 200
_PROCESSES = 2
_CHANNELS = 20
_WRITERS = 32
_COMPARES = f"""\
{_WATCHERS} watchers of all machines in {_PROCESSES} processes, over {_PROCESSES * _CHANNELS} connections, which the
kernel spreads over the server's workers; {_WRITERS} writers insert machines as fast as they can. Every worker reads the
log by itself and encodes every event once. No figure is asked for: workers are for machines with more cores than two.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Events delivered a second over all watchers, commits a second, and how busy each part was."""

    delivered: float
    committed: float
    cores: dict[str, float]


async def run(context: Context) -> Outcome:
    """Measure."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    for workers in statistic.interleave(("1", "2"), context.scale.pairs):
        sample = await _sample(context, workers)
        samples[workers].append(sample)
        context.say(f"workers, {workers}: {number(sample.delivered)} events/s")
    return _outcome(samples)


async def _sample(context: Context, workers: str) -> Sample:
    seconds = context.scale.choose(quick=2, full=4)
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(context.cluster.database())
        server = await stack.enter_async_context(process.server(url, "--workers", workers, directory=context.directory))
        watchers = [
            await stack.enter_async_context(
                process.generator("bench.load.watcher", directory=context.directory, name=f"watcher-{number}")
            )
            for number in range(_PROCESSES)
        ]
        for watcher in watchers:
            await watch.begin(watcher, server.address, watchers=_WATCHERS // _PROCESSES, channels=_CHANNELS)
        pids = {f"watchers {number + 1}": watcher.pid for number, watcher in enumerate(watchers)}
        meter = usage.Meter({"PostgreSQL": context.cluster.pid, "server": server.pid, **pids})
        written = await pgbench.write(
            context.cluster,
            url,
            script=pgbench.MACHINE,
            clients=_WRITERS,
            seconds=seconds,
            directory=context.directory,
        )
        each = written.transactions * _WATCHERS // _PROCESSES
        arrived = await asyncio.gather(*(watch.catch_up(watcher, each) for watcher in watchers))
        took = seconds + max(one.seconds for one in arrived)
        return Sample(
            written.transactions * _WATCHERS / took,
            written.commits_per_second,
            meter.read() | {"pgbench": written.cpu_seconds / took},
        )


def _outcome(samples: dict[str, list[Sample]]) -> Outcome:
    delivered = {workers: [sample.delivered for sample in taken] for workers, taken in samples.items()}
    parts = list(samples["1"][0].cores)
    rows = [
        (
            workers,
            span(statistic.spread(delivered[workers])),
            span(statistic.spread([sample.committed for sample in taken])),
            *(number(statistic.spread([sample.cores[part] for sample in taken]).median) for part in parts),
        )
        for workers, taken in sorted(samples.items())
    ]
    header = ("workers", "delivered events/s", "commits/s", *(f"{part}, cores" for part in parts))
    ratio = span(statistic.ratio(delivered["2"], delivered["1"]))
    return Outcome(
        title="Two workers",
        compares=_COMPARES,
        tables=(Table(f"{_WATCHERS} watchers, {_WRITERS} writers", header, tuple(rows)),),
        verdicts=(),
        notes=(
            f"Two workers deliver {ratio}× of what one does.",
            "PostgreSQL, writers and watchers use the same two cores, and each worker reads and encodes every event.",
        ),
    )
