"""Runs both peers in turn, at saturation and at the same offered load, and judges what was delivered and when."""

from collections import defaultdict

from bench import statistic
from bench.context import Context
from bench.fanout import arena, etcd
from bench.fanout.arena import Sample
from bench.result import Outcome, Table, Verdict, number, span

_OURS, _THEIRS = "Tinkwell", "etcd"
# How many watchers, and how many times as many events as etcd's they are to get at least: each is encoded once for all.
_WATCHERS = {20: 1.5, 200: 3.0}
_RUNS_BEFORE = 3
# The offered load lasts so much longer: one commit in a hundred, of a few hundred a second, is few.
_STEADY = 3
_SATURATED, _OFFERED = "saturation", "half of etcd's saturation"
_COMPARES = f"""\
{arena.WRITERS} writers in one process, and watchers of all that is written in {arena.WATCHING_PROCESSES} more, each
over one connection; values have {arena.VALUE_BYTES} bytes and hold the moment at which the writer handed them over.
etcd is one member as Debian packages it, flushing to the same disk as PostgreSQL. Both sides are used from Python in
the same way: grpc.aio, messages parsed by protobuf, and for each event its revision compared with the one before and
its latency taken. For etcd a write is a Put to a new key; for Tinkwell it is an insert of a machine by SQL, one
transaction each through the real schema with its triggers, whose event carries the machine, {arena.VALUE_BYTES} bytes
of metadata among it. At *saturation* every writer writes as fast as its commits return. *Offered* is half of what etcd
has delivered to each watcher at saturation until then: the median of {_RUNS_BEFORE} runs before the others and of those
in the pairs, since single ones differ by half. Both of a pair get it, from {arena.WRITERS} writers at random phases.
"""
_NOTES = (
    (
        "Every watcher received every revision, one after another, or the run would have failed; at the offered load it"
        " also received the last one. At saturation some were still under way when the clients left."
    ),
    (
        "Everything shares the same cores, the clients in Python, too: the tables tell how busy each process was. etcd"
        " sends a message for each event while a watcher keeps up; Tinkwell sends what has come meanwhile in one, which"
        " is cheaper for the server and for the client."
    ),
    "p99 at saturation is information: closed loops fill every queue, and a peer that commits more queues more.",
)

Samples = dict[str, dict[str, list[Sample]]]


async def run(context: Context) -> Outcome:
    """Measure."""
    if etcd.program() is None:
        verdicts = [verdict for watchers in _WATCHERS for verdict in _missing(watchers, "etcd is not installed")]
        return Outcome("Fan-out", _COMPARES, (), tuple(verdicts))
    tables: list[Table] = []
    verdicts = []
    for watchers in context.scale.choose(quick=(20,), full=tuple(_WATCHERS)):
        samples, offered = await _measure(context, watchers)
        tables += [
            _table(f"{watchers} watchers, saturation", samples[_SATURATED]),
            _table(f"{watchers} watchers, about {number(offered)} commits/s offered", samples[_OFFERED]),
        ]
        verdicts += _verdicts(samples, watchers)
    return Outcome("Fan-out", _COMPARES, tuple(tables), tuple(verdicts), _NOTES)


async def _measure(context: Context, watchers: int) -> tuple[Samples, float]:
    seconds = context.scale.choose(quick=1.0, full=2.0)
    delivered = [await _saturation(context, watchers, seconds) for _ in range(_RUNS_BEFORE)]
    samples: Samples = {_SATURATED: defaultdict(list), _OFFERED: defaultdict(list)}
    rates: list[float] = []
    for place, name in enumerate(statistic.interleave((_OURS, _THEIRS), context.scale.pairs)):
        if place % 2 == 0:
            rates.append(statistic.spread(delivered).median / watchers / 2)
        async with arena.running(context, name, watchers) as peer:
            steady = await peer.sample(seconds=_STEADY * seconds, rate=rates[-1])
            saturated = await peer.sample(seconds=seconds, rate=None)
        samples[_SATURATED][name].append(saturated)
        samples[_OFFERED][name].append(steady)
        if name == _THEIRS:
            delivered.append(saturated.delivered)
        high = number(steady.latencies.percentile(0.99) * 1000)
        context.say(
            f"fanout, {watchers} watchers, {name}: {number(saturated.delivered)} events/s;"
            f" p99 {high} ms at {number(steady.committed)} commits/s"
        )
    return samples, statistic.spread(rates).median


async def _saturation(context: Context, watchers: int, seconds: float) -> float:
    """Measure how many events a second etcd delivers at saturation, to all of its watchers."""
    async with arena.running(context, _THEIRS, watchers) as peer:
        return (await peer.sample(seconds=seconds, rate=None)).delivered


def _table(title: str, samples: dict[str, list[Sample]]) -> Table:
    parts = list(samples[_OURS][0].cores)

    def cells(name: str) -> tuple[str, ...]:
        taken = samples[name]
        return (
            name,
            span(statistic.spread([sample.delivered for sample in taken])),
            span(statistic.spread([sample.committed for sample in taken])),
            number(statistic.spread([sample.delivered / max(sample.messages, 1) for sample in taken]).median),
            *(span(statistic.spread(_percentiles(taken, share)), scale=1000) for share in (0.5, 0.99)),
            *(_cores(taken, part) for part in parts),
        )

    header = ("", "events/s delivered", "commits/s", "events a message", "p50, ms", "p99, ms")
    rows = tuple(cells(name) for name in (_OURS, _THEIRS))
    return Table(title, (*header, *(f"{part}, cores" for part in parts)), rows)


def _cores(taken: list[Sample], part: str) -> str:
    used = [sample.cores[part] for sample in taken if part in sample.cores]
    return number(statistic.spread(used).median) if used else "–"


def _percentiles(taken: list[Sample], share: float) -> list[float]:
    return [sample.latencies.percentile(share) for sample in taken]


def _verdicts(samples: Samples, watchers: int) -> list[Verdict]:
    delivered = {name: [sample.delivered for sample in taken] for name, taken in samples[_SATURATED].items()}
    high = {name: _percentiles(taken, 0.99) for name, taken in samples[_OFFERED].items()}
    first, second = _missing(watchers, "")
    return [
        Verdict.of(first.what, statistic.ratio(delivered[_OURS], delivered[_THEIRS]), first.relation, first.bound),
        Verdict.of(second.what, statistic.ratio(high[_OURS], high[_THEIRS]), second.relation, second.bound),
    ]


def _missing(watchers: int, reason: str) -> list[Verdict]:
    return [
        Verdict.missing(
            f"events/s delivered to {watchers} watchers, to etcd's", "≥", _WATCHERS[watchers], reason=reason
        ),
        Verdict.missing(f"p99 to {watchers} watchers at {_OFFERED}, to etcd's", "≤", 1.5, reason=reason),
    ]
