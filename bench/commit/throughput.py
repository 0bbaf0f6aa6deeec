"""The three schemas in turn, as fast as the clients can, on PostgreSQL as it is and with a slow disk."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench import pgbench, process, statistic, usage
from bench.cluster import Cluster
from bench.commit.variant import VARIANTS
from bench.context import Context
from bench.load import watch
from bench.result import Table, number, span

_WARM_UP_SECONDS = 1

Rates = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: commits a second, seconds until the last event was delivered, and cores used by each part."""

    rate: float
    behind_seconds: float
    cores: dict[str, float]


async def measure(
    context: Context, cluster: Cluster, names: Sequence[str], *, clients: int, title: str
) -> tuple[Rates, Table]:
    """Run the variants in turn; return the commits a second of each, and the table to show."""
    seconds = context.scale.choose(quick=1, full=3)
    samples: dict[str, list[Sample]] = defaultdict(list)
    for name in statistic.interleave(names, context.scale.pairs):
        taken = await _sample(context, cluster, name, clients=clients, seconds=seconds)
        samples[name].append(taken)
        context.say(f"commit, {title}, {name}: {number(taken.rate)} commits/s")
    return {name: [sample.rate for sample in taken] for name, taken in samples.items()}, _table(title, samples)


async def _sample(context: Context, cluster: Cluster, name: str, *, clients: int, seconds: int) -> Sample:
    async with (
        VARIANTS[name].served(cluster, context.directory) as (url, server),
        process.generator("bench.load.watcher", directory=context.directory) as watcher,
    ):
        await watch.begin(watcher, server.address)
        meter = usage.Meter({"PostgreSQL": cluster.pid, "server": server.pid, "watcher": watcher.pid})
        written = await pgbench.write(
            cluster,
            url,
            script=pgbench.MACHINE,
            clients=clients,
            seconds=seconds,
            warm_up_seconds=_WARM_UP_SECONDS,
            directory=context.directory,
        )
        cores = meter.read() | {"pgbench": written.cpu_seconds / (_WARM_UP_SECONDS + seconds)}
        arrived = await watch.catch_up(watcher, written.transactions)
    return Sample(written.commits_per_second, arrived.seconds, cores)


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
    header = ("", "commits/s", "last event after the last commit, ms", *(f"{part}, cores" for part in parts))
    return Table(title, header, tuple(rows))
