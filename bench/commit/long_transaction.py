"""What a writer that keeps its transactions open does to the others' events."""

import asyncio
from collections import defaultdict

from bench import pgbench, process, statistic
from bench.context import Context
from bench.load import watch
from bench.result import Table, Verdict, number, span

_CLIENTS = 8
_RATE = 400
_LONGEST_SECONDS = 3
# A template, so that the watcher, who wants machines, gets the events of the others alone.
_SLOW = f"""\
\\set ms random(500, {_LONGEST_SECONDS * 1000})
BEGIN;
INSERT INTO template (id, name, data) SELECT id, 'slow-' || id, 'version: "0.1"' FROM gen_random_uuid() AS id;
\\sleep :ms ms
COMMIT;
"""
_ALONE, _BESIDE = "alone", "beside the open transactions"


async def measure(context: Context) -> tuple[Table, Verdict]:
    """Run the writers alone and beside the slow one, in turn; compare the 99th percentile of their events' latency."""
    seconds = context.scale.choose(quick=2, full=5)
    taken: dict[str, list[statistic.Latencies]] = defaultdict(list)
    for name in statistic.interleave((_ALONE, _BESIDE), context.scale.pairs):
        latencies = await _sample(context, is_disturbed=name == _BESIDE, seconds=seconds)
        taken[name].append(latencies)
        context.say(f"commit, {name}: p99 {number(latencies.percentile(0.99) * 1000)} ms")
    high = {name: [latencies.percentile(0.99) for latencies in runs] for name, runs in taken.items()}
    verdict = Verdict.of(
        f"p99 of others' events beside transactions open for up to {_LONGEST_SECONDS} s, to p99 without",
        statistic.ratio(high[_BESIDE], high[_ALONE]),
        "≤",
        10,
    )
    return _table(taken, high), verdict


async def _sample(context: Context, *, is_disturbed: bool, seconds: int) -> statistic.Latencies:
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        process.generator("bench.load.watcher", directory=context.directory) as watcher,
        asyncio.TaskGroup() as tasks,
    ):
        await watch.begin(watcher, server.address, stamp="created")
        if is_disturbed:
            tasks.create_task(_write(context, url, script=_SLOW, clients=1, seconds=seconds, rate=None))
        written = await _write(context, url, script=pgbench.MACHINE, clients=_CLIENTS, seconds=seconds, rate=_RATE)
        return (await watch.catch_up(watcher, written.transactions)).latencies


async def _write(
    context: Context, url: str, *, script: str, clients: int, seconds: int, rate: int | None
) -> pgbench.Written:
    return await pgbench.write(
        context.cluster,
        url,
        script=script,
        clients=clients,
        seconds=seconds,
        directory=context.directory,
        rate=rate,
    )


def _table(taken: dict[str, list[statistic.Latencies]], high: dict[str, list[float]]) -> Table:
    rows = [
        (
            name,
            span(statistic.spread([latencies.percentile(0.5) for latencies in runs]), scale=1000),
            span(statistic.spread(high[name]), scale=1000),
            f"{sum(latencies.count for latencies in runs):,}",
        )
        for name, runs in taken.items()
    ]
    title = f"{_CLIENTS} writers, {_RATE} commits/s in all: from drawing the revision to the watcher"
    return Table(title, ("", "p50, ms", "p99, ms", "events"), tuple(rows))
