"""Runs the three designs in turn, idle and under a steady load, with the same client."""

import contextlib
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from statistics import mean

from bench import process, statistic, usage
from bench.context import Context
from bench.latency import design as classic
from bench.result import Outcome, Table, Verdict, number, span
from bench.statistic import Latencies

_OURS, _ROW, _ID = "Tinkwell", "NOTIFY with the row", "NOTIFY with the id"
_DESIGNS = {_ROW: "row", _ID: "id"}
_IDLE, _LOADED = "idle", "1,000 commits/s"
_SINGLE_DIGIT_MS = 10
# The designs take turns so often while all of them run: what the machine does meanwhile favours none. Even numbers, so
# that who comes first in one turn comes last in another. Under load a turn of a second differs from the next one by
# 7 %, and the designs by less, whatever processes and databases they are in: only many turns tell them apart.
_WINDOWS = {_IDLE: 4, _LOADED: 16}
_COMPARES = """\
One process writes machines and watches their events with Tinkwell's client library, so that one clock measures; its
callback takes the time. The verdicts are on *before*, which begins when the inserting transaction is handed over, for
what a design does to the commit is part of it; *after* begins when that has returned to the writer, and leaves out
what NOTIFY costs there. Two classic designs run over the same tables and send the same messages to the same client
from a small asyncio server on the same event loop: a trigger whose NOTIFY carries the row as JSON, and a trigger
whose NOTIFY carries the id, with one query per notification. *Idle* is one writer with a change every 50 to 100 ms;
the load is offered by 16 writers at random phases, and its first second, in which sessions fill their caches, is left
out. All three run beside each other, over databases of their own, and take turns about every second; the others have
nothing to do meanwhile.
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

    @classmethod
    def of(cls, windows: Sequence["Sample"]) -> "Sample":
        """Return what windows of the same length are together."""
        before, after = Latencies(), Latencies()
        for window in windows:
            before.merge(window.before)
            after.merge(window.after)
        cores = {part: mean(window.cores[part] for window in windows) for part in windows[0].cores}
        return cls(before, after, mean(window.rate for window in windows), cores)


@dataclass(frozen=True, slots=True)
class Side:
    """A design whose server and client run, and the processes to meter."""

    client: process.Generator
    pids: dict[str, int]


async def run(context: Context) -> Outcome:
    """Measure."""
    samples: dict[str, dict[str, list[Sample]]] = {_IDLE: defaultdict(list), _LOADED: defaultdict(list)}
    for _ in range(context.scale.pairs):
        async with contextlib.AsyncExitStack() as stack:
            sides = {name: await stack.enter_async_context(_side(context, name)) for name in (_OURS, *_DESIGNS)}
            seconds = context.scale.choose(quick=1, full=5)
            idle = await _in_turn(sides, windows=_WINDOWS[_IDLE], seconds=seconds, writers=1, rate=13)
            # In the first second of a session's load PostgreSQL compiles and plans.
            for side in sides.values():
                await side.client.ask(seconds=1, writers=16, rate=1_000)
            seconds = context.scale.choose(quick=2, full=12)
            loaded = await _in_turn(sides, windows=_WINDOWS[_LOADED], seconds=seconds, writers=16, rate=1_000)
        for name in sides:
            samples[_IDLE][name].append(idle[name])
            samples[_LOADED][name].append(loaded[name])
            middle = [number(taken[name].after.percentile(0.5) * 1000) for taken in (idle, loaded)]
            rate = number(loaded[name].rate)
            context.say(f"latency, {name}: p50 {middle[0]} ms idle, {middle[1]} ms at {rate} commits/s")
    return Outcome(
        title="From commit to callback",
        compares=_COMPARES,
        tables=tuple(_table(title, taken) for title, taken in samples.items()),
        verdicts=_verdicts(samples),
        notes=_NOTES,
    )


@contextlib.asynccontextmanager
async def _side(context: Context, name: str) -> AsyncIterator[Side]:
    """Run the design's server and the client, connected."""
    design = _DESIGNS.get(name)
    directory = context.directory / (design or "tinkwell")
    directory.mkdir(exist_ok=True)
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(
            context.cluster.database(classic.statements(design) if design is not None else ())
        )
        if design is None:
            ours = await stack.enter_async_context(process.server(url, directory=directory))
            address, pid = ours.address, ours.pid
        else:
            command = (sys.executable, "-m", "bench.latency.classic", design, url)
            theirs = await stack.enter_async_context(process.program(*command, log=directory / "classic.log"))
            address, pid = (await theirs.line(r"^gRPC\s+(\S+)$")).group(1), theirs.pid
        client = await stack.enter_async_context(process.generator("bench.latency.client", directory=directory))
        await client.ask(address=address, database_url=url)
        yield Side(client, {"PostgreSQL": context.cluster.pid, "server": pid, "client": client.pid})


async def _in_turn(
    sides: dict[str, Side], *, windows: int, seconds: float, writers: int, rate: int
) -> dict[str, Sample]:
    """Measure each side for so long in all, in windows that take turns."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    for name in statistic.interleave(tuple(sides), windows):
        samples[name].append(await _sample(sides[name], seconds=seconds / windows, writers=writers, rate=rate))
    return {name: Sample.of(taken) for name, taken in samples.items()}


async def _sample(side: Side, *, seconds: float, writers: int, rate: int) -> Sample:
    meter = usage.Meter(side.pids)
    taken = await side.client.ask(seconds=seconds, writers=writers, rate=rate)
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
        beside(_LOADED, _ROW, 1.3),
        beside(_LOADED, _ID, 1),
        single(_IDLE),
        single(_LOADED),
    )
