"""The schemas in turn, as fast as the clients can, on PostgreSQL as it is and with a slow disk."""

import asyncio
import re
import time
import urllib.request
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench import pgbench, process, statistic, usage
from bench.cluster import Cluster
from bench.commit.variant import VARIANTS
from bench.context import Context
from bench.result import Table, number, span

_WARM_UP_SECONDS = 1
_CATCH_UP_SECONDS = 60
_LOOK_SECONDS = 0.005

Rates = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: commits a second, seconds until the reader had the last event, and cores used by each part."""

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
    variant = VARIANTS[name]
    async with variant.served(cluster, context.directory) as (url, server):
        meter = usage.Meter({"PostgreSQL": cluster.pid, "server": server.pid})
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
        behind_seconds = await _catch_up(server, written.transactions * variant.events)
    return Sample(written.commits_per_second, behind_seconds, cores)


async def _catch_up(server: process.Server, events: int) -> float:
    """Return the seconds until the server's reader has read exactly so many events. Raises `process.Failed`."""
    began = time.monotonic()
    while (count := await asyncio.to_thread(_read_events, server)) != events:
        took = time.monotonic() - began
        if count > events or took > _CATCH_UP_SECONDS:
            raise process.Failed(f"{count} events were read within {took:.0f} s, but {events} were committed")
        await asyncio.sleep(_LOOK_SECONDS)
    return time.monotonic() - began


def _read_events(server: process.Server) -> int:
    with urllib.request.urlopen(f"http://{server.http_address}/metrics", timeout=_CATCH_UP_SECONDS) as response:
        found = re.search(r"^tinkwell_log_events_total ([\d.e+]+)$", response.read().decode(), re.MULTILINE)
    if found is None:
        raise process.Failed("the server's metrics do not tell how many events it has read")
    return int(float(found.group(1)))


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
    header = ("", "commits/s", "last event read after the last commit, ms", *(f"{part}, cores" for part in parts))
    return Table(title, header, tuple(rows))
