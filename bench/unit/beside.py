"""How soon another watcher hears of a change while units play, to how soon while they rest."""

import time
from collections import defaultdict
from dataclasses import dataclass

from bench import process, statistic
from bench.context import Context
from bench.result import Table, Verdict, number, span
from bench.statistic import Latencies
from bench.unit import charms, play, site
from bench.unit.part import Part
from bench.unit.site import Site

_REST, _PLAY = "units at rest", "units play"
_BOUND = 1.1
_EVENTS = "SELECT sum(last_ordinal)::bigint FROM unit"


@dataclass(frozen=True, slots=True)
class Sample:
    """Latencies of the watcher, and how many events units were given in a second meanwhile."""

    latencies: Latencies
    rate: float


async def measure(context: Context) -> Part:
    """Measure both in turn, on one server."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    async with (
        site.opened(context) as stage,
        stage.agent(charms.Player),
        process.generator("bench.load.pinger", directory=context.directory) as pinger,
    ):
        players = play.Play(stage)
        await players.prepare()
        await _sample(context, stage, pinger)
        for name in statistic.interleave((_REST, _PLAY), context.scale.pairs):
            if name == _PLAY:
                pause, returns = context.scale.choose(quick=(500, 2), full=(2_500, 5))
                await players.begin(returns, pause_milliseconds=pause)
            samples[name].append(await _sample(context, stage, pinger))
            await stage.settled(*players.names)
    return _part(samples)


async def _sample(context: Context, stage: Site, pinger: process.Generator) -> Sample:
    changes = context.scale.choose(quick=20, full=100)
    before, began = await stage.sql.fetchval(_EVENTS), time.monotonic()
    answer = await pinger.ask(address=stage.server.address, url=stage.url, changes=changes)
    events, seconds = await stage.sql.fetchval(_EVENTS) - before, time.monotonic() - began
    return Sample(Latencies.parse(answer["latencies"]), events / seconds)


def _part(samples: dict[str, list[Sample]]) -> Part:
    medians = {name: [sample.latencies.percentile(0.5) for sample in taken] for name, taken in samples.items()}
    rows = [
        (
            name,
            number(statistic.spread([sample.rate for sample in taken]).median),
            span(statistic.spread(medians[name]), scale=1000),
            span(statistic.spread([sample.latencies.percentile(0.99) for sample in taken]), scale=1000),
        )
        for name, taken in samples.items()
    ]
    return Part(
        (Table("Another watcher", ("", "units' events/s", "p50, ms", "p99, ms"), tuple(rows)),),
        (
            Verdict.of(
                "p50 of a change for another watcher while units play, to that while they rest",
                statistic.ratio(medians[_PLAY], medians[_REST]),
                "≤",
                _BOUND,
            ),
        ),
    )
