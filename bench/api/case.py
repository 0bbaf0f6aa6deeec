"""Calls both sides in turn, and etcd beside them."""

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from bench import process, statistic, usage
from bench.api import site
from bench.context import Context
from bench.fanout import etcd
from bench.result import Outcome, Table, Verdict, number, span
from bench.statistic import Latencies

_AT_A_TIME = 32
_BOUND = 0.5
_OURS, _BARE, _ETCD = "Tinkwell", "bare servicer", "etcd"
_CALLS = ("Push", "CreateWorkflow", "Publish", "ByID")
_ETCD_CALLS = ("Put", "Range")
# As many as a server has by default.
_SESSIONS = 10
_WARM_UP_SECONDS = 1.0
_COMPARES = f"""\
One process in Python keeps {_AT_A_TIME} calls under way over one grpc.aio channel. It pushes new machines, creates
workflows of two actions from one template, publishes events, and reads machines by their ids. Tinkwell is a server as
it is. The *bare servicer* is the least that could serve the same requests in Python: grpc.aio decodes the request,
asyncpg runs one prepared statement in the same schema with the same triggers, and the row is the answer. It has as many
sessions, which plan in the same way; it checks nothing, renders no template, and names no actor. Both work in one
database, and Tinkwell's server reads the events of both, so that all commits ring the same bell. For information, etcd
is called in the same way: Put of a new key with 300 bytes, and Range of one key.
"""
_NOTES = (
    (
        "Everything shares the same cores; the table says what each part uses for a call. Beside the bare servicer, the"
        " reader is Tinkwell's server, which reads the events; beside Tinkwell, that is part of the server."
    ),
    "A call that fails, whichever side it was made to, fails the run.",
)

Samples = dict[tuple[str, str], list["Sample"]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Calls a second, their latencies, and the processor seconds that each part used for one call."""

    rate: float
    latencies: Latencies
    used: dict[str, float]


@dataclass(frozen=True, slots=True)
class Side:
    """Who is called, and the processes that are busy then."""

    address: str
    pids: dict[str, int]


async def run(context: Context) -> Outcome:
    """Measure."""
    samples: Samples = defaultdict(list)
    seconds = context.scale.choose(quick=1.0, full=3.0)
    async with contextlib.AsyncExitStack() as stack:
        caller = await stack.enter_async_context(process.generator("bench.api.caller", directory=context.directory))
        sides = await stack.enter_async_context(_sides(context))
        pairs = [(side, call) for call in _CALLS for side in (_OURS, _BARE)]
        pairs += [(_ETCD, call) for call in _ETCD_CALLS if _ETCD in sides]
        for side, call in pairs:
            await _sample(caller, sides[side], call, _WARM_UP_SECONDS)
        for place in range(context.scale.pairs):
            # The two sides of a pair follow each other at once, in turning order.
            for side, call in pairs if place % 2 == 0 else reversed(pairs):
                sample = await _sample(caller, sides[side], call, seconds)
                samples[side, call].append(sample)
                context.say(f"api, {side}, {call}: {number(sample.rate)} calls/s")
    return Outcome(
        title="Calls of the API",
        compares=_COMPARES,
        tables=(_table(samples, pairs),),
        verdicts=tuple(_verdict(samples, call) for call in _CALLS),
        notes=_NOTES,
    )


@contextlib.asynccontextmanager
async def _sides(context: Context) -> AsyncIterator[dict[str, Side]]:
    """Run everyone who is called; etcd only where it is installed."""
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(context.cluster.database(site.SETUP))
        ours = await stack.enter_async_context(process.server(url, directory=context.directory))
        bare = await stack.enter_async_context(process.generator("bench.api.bare", directory=context.directory))
        answer = await bare.ask(url=url, sessions=_SESSIONS)
        sides = {
            _OURS: Side(ours.address, {"server": ours.pid, "PostgreSQL": context.cluster.pid}),
            _BARE: Side(answer["address"], {"server": bare.pid, "PostgreSQL": context.cluster.pid, "reader": ours.pid}),
        }
        if etcd.program() is not None:
            theirs = await stack.enter_async_context(etcd.running(context.directory))
            sides[_ETCD] = Side(theirs.address, {"server": theirs.pid})
        yield sides


async def _sample(caller: process.Generator, side: Side, call: str, seconds: float) -> Sample:
    meter = usage.Meter(side.pids | {"client": caller.pid})
    answer = await caller.ask(address=side.address, call=call, count=_AT_A_TIME, seconds=seconds)
    used = {part: cores / answer["rate"] for part, cores in meter.read().items()}
    return Sample(answer["rate"], Latencies.parse(answer["latencies"]), used)


def _table(samples: Samples, pairs: Sequence[tuple[str, str]]) -> Table:
    def cells(side: str, call: str) -> tuple[str, ...]:
        taken = samples[side, call]
        percentiles = ([sample.latencies.percentile(share) for sample in taken] for share in (0.5, 0.99))
        used = ([sample.used[part] for sample in taken if part in sample.used] for part in parts)
        return (
            call,
            side,
            span(statistic.spread([sample.rate for sample in taken])),
            *(number(statistic.spread(values).median * 1000) for values in percentiles),
            *(number(statistic.spread(values).median * 1000) if values else "–" for values in used),
        )

    parts = list(dict.fromkeys(part for pair in pairs for part in samples[pair][0].used))
    header = ("call", "", "calls/s", "p50, ms", "p99, ms", *(f"{part}, processor ms/call" for part in parts))
    return Table(f"{_AT_A_TIME} calls at a time", header, tuple(cells(side, call) for side, call in pairs))


def _verdict(samples: Samples, call: str) -> Verdict:
    ours, bare = ([sample.rate for sample in samples[side, call]] for side in (_OURS, _BARE))
    return Verdict.of(f"{call}, calls/s to those of a bare servicer", statistic.ratio(ours, bare), "≥", _BOUND)
