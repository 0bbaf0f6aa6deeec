"""Runs the three designs in turn, idle and under a steady load, with the same client."""

import contextlib
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bench import process, statistic, usage
from bench.context import Context
from bench.latency import design as classic
from bench.result import Outcome, Table, Verdict, number, span
from bench.statistic import Latencies

_OURS, _ROW, _ID = "Tinkwell", "NOTIFY with the row", "NOTIFY with the id"
_DESIGNS = {_ROW: "row", _ID: "id"}
_IDLE, _LOADED = "idle", "1,000 commits/s"
_SINGLE_DIGIT_MS = 10
_COMPARES = """\
One process writes machines and watches their events with Tinkwell's client library, so that one clock measures; its
callback takes the time. The verdicts are on *before*, which begins when the inserting transaction is handed over, for
what a design does to the commit is part of it; *after* begins when that has returned to the writer, and leaves out
what NOTIFY costs there. Two classic designs run over the same tables and send the same messages to the same client
from a small asyncio server on the same event loop: a trigger whose NOTIFY carries the row as JSON, and a trigger
whose NOTIFY carries the id, with one query per notification. *Idle* is one writer with a change every 50 to 100 ms;
the load is offered by 16 writers at random phases, and its first second, in which sessions fill their caches, is left
out.
"""
_NOTES = (
    (
        "The classic designs do less: they select nothing, and lose what is too long or comes while nobody listens."
        " Their notifications come in another order than their events' numbers; the servers here number them anew,"
        " since a client that resumes by number would skip those that come late."
    ),
    (
        "NOTIFY in every transaction makes commits wait for each other, which *after* does not see and *before* does;"
        " the column of commits/s tells whether the offered load was reached."
    ),
    "At 1,000 commits/s the writing client itself is busy; it is the same client for all three.",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """Latencies before and after the commit, the commits a second that were reached, and the cores in use."""

    before: Latencies
    after: Latencies
    rate: float
    cores: dict[str, float]


async def run(context: Context) -> Outcome:
    """Measure."""
    samples: dict[str, dict[str, list[Sample]]] = {_IDLE: defaultdict(list), _LOADED: defaultdict(list)}
    for name in statistic.interleave((_OURS, *_DESIGNS), context.scale.pairs):
        async with _client(context, name) as (client, pids):
            idle = await _sample(client, pids, seconds=context.scale.choose(quick=1, full=5), writers=1, rate=13)
            # In the first second of a session's load PostgreSQL compiles and plans.
            await client.ask(seconds=1, writers=16, rate=1_000)
            loaded = await _sample(client, pids, seconds=context.scale.choose(quick=1, full=6), writers=16, rate=1_000)
        samples[_IDLE][name].append(idle)
        samples[_LOADED][name].append(loaded)
        middle = [number(taken.after.percentile(0.5) * 1000) for taken in (idle, loaded)]
        context.say(f"latency, {name}: p50 {middle[0]} ms idle, {middle[1]} ms at {number(loaded.rate)} commits/s")
    return Outcome(
        title="From commit to callback",
        compares=_COMPARES,
        tables=tuple(_table(title, taken) for title, taken in samples.items()),
        verdicts=_verdicts(samples),
        notes=_NOTES,
    )


@contextlib.asynccontextmanager
async def _client(context: Context, name: str) -> AsyncIterator[tuple[process.Generator, dict[str, int]]]:
    """Run the design's server and the client, connected; yields the client, and the processes to meter."""
    design = _DESIGNS.get(name)
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(
            context.cluster.database(classic.statements(design) if design is not None else ())
        )
        if design is None:
            ours = await stack.enter_async_context(process.server(url, directory=context.directory))
            address, pid = ours.address, ours.pid
        else:
            command = (sys.executable, "-m", "bench.latency.classic", design, url)
            theirs = await stack.enter_async_context(process.program(*command, log=context.directory / "classic.log"))
            address, pid = (await theirs.line(r"^gRPC\s+(\S+)$")).group(1), theirs.pid
        client = await stack.enter_async_context(process.generator("bench.latency.client", directory=context.directory))
        await client.ask(address=address, database_url=url)
        yield client, {"PostgreSQL": context.cluster.pid, "server": pid, "client": client.pid}


async def _sample(
    client: process.Generator, pids: dict[str, int], *, seconds: float, writers: int, rate: int
) -> Sample:
    meter = usage.Meter(pids)
    taken = await client.ask(seconds=seconds, writers=writers, rate=rate)
    return Sample(Latencies.parse(taken["before"]), Latencies.parse(taken["after"]), taken["rate"], meter.read())


def _table(title: str, samples: dict[str, list[Sample]]) -> Table:
    parts = list(next(iter(samples.values()))[0].cores)

    def cells(name: str) -> tuple[str, ...]:
        taken = samples[name]
        return (
            name,
            *(span(statistic.spread(_percentiles(taken, share)), scale=1000) for share in (0.5, 0.99)),
            span(statistic.spread([sample.before.percentile(0.5) for sample in taken]), scale=1000),
            number(statistic.spread([sample.rate for sample in taken]).median),
            *(number(statistic.spread([sample.cores[part] for sample in taken]).median) for part in parts),
        )

    header = (
        "",
        "p50 after, ms",
        "p99 after, ms",
        "p50 before, ms",
        "commits/s",
        *(f"{part}, cores" for part in parts),
    )
    return Table(title.capitalize(), header, tuple(cells(name) for name in (_OURS, *_DESIGNS)))


def _percentiles(taken: list[Sample], share: float) -> list[float]:
    return [sample.after.percentile(share) for sample in taken]


def _verdicts(samples: dict[str, dict[str, list[Sample]]]) -> tuple[Verdict, ...]:
    def beside(title: str, other: str, bound: float) -> Verdict:
        ours, theirs = ([sample.before.percentile(0.5) for sample in samples[title][name]] for name in (_OURS, other))
        what = f"p50 from commit to callback, {title}, to that of {other}"
        return Verdict.of(what, statistic.ratio(ours, theirs), "≤", bound)

    def single(title: str) -> Verdict:
        milliseconds = [sample.before.percentile(0.5) * 1000 for sample in samples[title][_OURS]]
        what = f"p50 from commit to callback, {title}"
        return Verdict.of(what, statistic.spread(milliseconds), "≤", _SINGLE_DIGIT_MS, unit="ms")

    return (
        beside(_IDLE, _ROW, 1.25),
        beside(_LOADED, _ROW, 1),
        beside(_LOADED, _ID, 1),
        single(_IDLE),
        single(_LOADED),
    )
