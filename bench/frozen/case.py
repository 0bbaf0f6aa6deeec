"""Two hundred watchers under load, all of them reading or one of them frozen."""

from collections import defaultdict
from dataclasses import dataclass

from bench import pgbench, process, statistic, usage
from bench.context import Context
from bench.load import watch
from bench.result import Outcome, Table, Verdict, number, span

_ALL, _FROZEN = "all read", "one is frozen"
_WATCHERS = 200
_WRITERS = 32
_ROOM_MEBIBYTES = 64
# Single samples differ by 15 %, which is three times as much as may be lost.
_TIMES = 2
_COMPARES = f"""\
{_WATCHERS} watchers of all machines, which {_WRITERS} writers insert as fast as they can: either all watchers read, or
one of them, over a connection of its own, stops reading after its first response. What counts is how many events the
others take per second, until they have all of them. Then the frozen one reads on: it must get every event in order, or
be told that it does not. There are twice as many pairs as elsewhere on this page.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Events delivered a second to those that read, the server's memory, and what became of the frozen one."""

    rate: float
    grown_mebibytes: float
    written: int
    thawed: int = 0
    end: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the frozen watcher, once it read on, got all or was told that it did not."""
        return self.thawed == self.written or self.end.startswith(("RESOURCE_EXHAUSTED", "OUT_OF_RANGE"))


async def run(context: Context) -> Outcome:
    """Measure."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    for name in statistic.interleave((_ALL, _FROZEN), _TIMES * context.scale.pairs):
        sample = await _sample(context, is_frozen=name == _FROZEN)
        samples[name].append(sample)
        context.say(f"frozen, {name}: {number(sample.rate)} events/s, server grew {number(sample.grown_mebibytes)} MiB")
    return _outcome(samples)


async def _sample(context: Context, *, is_frozen: bool) -> Sample:
    seconds = context.scale.choose(quick=2, full=5)
    readers = _WATCHERS - is_frozen
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        process.generator("bench.load.watcher", directory=context.directory) as watcher,
        process.generator("bench.load.frozen", directory=context.directory) as frozen,
    ):
        await watch.begin(watcher, server.address, watchers=readers)
        if is_frozen:
            await frozen.ask(address=server.address)
        with usage.Memory.watched(server.pid) as memory:
            written = await pgbench.write(
                context.cluster,
                url,
                script=pgbench.MACHINE,
                clients=_WRITERS,
                seconds=seconds,
                directory=context.directory,
            )
            arrived = await watch.catch_up(watcher, written.transactions * readers)
        rate = written.transactions * readers / (seconds + arrived.seconds)
        grown = (memory.most_bytes - memory.before_bytes) / 2**20
        if not is_frozen:
            return Sample(rate, grown, written.transactions)
        thawed = await frozen.ask(events=written.transactions)
        return Sample(rate, grown, written.transactions, thawed["events"], thawed["end"])


def _outcome(samples: dict[str, list[Sample]]) -> Outcome:
    rates = {name: [sample.rate for sample in taken] for name, taken in samples.items()}
    grown = {name: [sample.grown_mebibytes for sample in taken] for name, taken in samples.items()}
    more = statistic.spread([with_ - without for with_, without in zip(grown[_FROZEN], grown[_ALL], strict=True)])
    frozen = samples[_FROZEN]
    rows = [(name, span(statistic.spread(rates[name])), span(statistic.spread(grown[name]))) for name in samples]
    ends = ", ".join(sorted({sample.end or "every event, in order" for sample in frozen}))
    return Outcome(
        title="A frozen consumer",
        compares=_COMPARES,
        tables=(Table(f"{_WATCHERS} watchers", ("", "events/s to the others", "server's growth, MiB"), tuple(rows)),),
        verdicts=(
            Verdict.of(
                "throughput of the others beside a frozen one", statistic.ratio(rates[_FROZEN], rates[_ALL]), "≥", 0.95
            ),
            Verdict.of("the server's growth for the frozen one", more, "≤", _ROOM_MEBIBYTES, unit="MiB"),
            Verdict(
                "frozen consumers that had all, or were told, when they read on",
                sum(sample.is_whole for sample in frozen) / len(frozen),
                "≥",
                1,
                unit="of 1",
            ),
        ),
        notes=(f"Once it read on, the frozen consumer got: {ends}.",),
    )
