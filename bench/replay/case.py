"""The readers in turn over one log, and the server's memory meanwhile."""

from collections import defaultdict
from dataclasses import dataclass

from bench import process, statistic, usage
from bench.context import Context
from bench.replay import log
from bench.result import Outcome, Table, Verdict, number, span

_STUB, _LIBRARY, _BARE = "replay to the generated stub", "replay to the client library", "bare asyncpg"
_DECODE = "the library's reading from memory"
_ACTS = {_STUB: "stub", _LIBRARY: "replay"}
_COMPARES = """\
A client watches from revision 1 and takes every stored event; the server reads them from the table, since its memory
holds none of them. Once the client is a call of the generated stub, whose responses protobuf parses, as asyncpg
parses rows; once it is the Python library, which hands out one object after the other. Beside them, asyncpg alone
reads the same rows of the same table by one cursor, without a server, a network or an encoding between; and the
library reads as many events from bytes in memory, which is the least that a replay costs its client.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds for all events; with a server, the cores that each part used and the server's memory in bytes."""

    seconds: float
    cores: dict[str, float]
    before_bytes: int = 0
    most_bytes: int = 0


async def run(context: Context) -> Outcome:
    """Measure."""
    events = context.scale.choose(quick=20_000, full=1_000_000)
    samples: dict[str, list[Sample]] = defaultdict(list)
    async with (
        context.cluster.database() as url,
        process.generator("bench.load.replayer", directory=context.directory) as replayer,
        process.generator("bench.load.table_reader", directory=context.directory) as table_reader,
    ):
        await log.fill(url, events)
        async with process.server(url, directory=context.directory) as server:
            for name in statistic.interleave((_STUB, _BARE, _LIBRARY), context.scale.pairs):
                if name == _BARE:
                    sample = Sample((await table_reader.ask(url=url, events=events))["seconds"], {})
                else:
                    sample = await _replay(context, server, replayer, do=_ACTS[name], events=events)
                samples[name].append(sample)
                context.say(f"replay, {name}: {number(events / sample.seconds)} events/s")
            for _ in range(context.scale.pairs):
                asked = await replayer.ask(do="decode", address=server.address, events=events)
                samples[_DECODE].append(Sample(asked["seconds"], {}))
    return _outcome(events, samples)


async def _replay(
    context: Context, server: process.Server, replayer: process.Generator, *, do: str, events: int
) -> Sample:
    meter = usage.Meter({"PostgreSQL": context.cluster.pid, "server": server.pid, "client": replayer.pid})
    with usage.Memory.watched(server.pid) as memory:
        took = (await replayer.ask(do=do, address=server.address, events=events))["seconds"]
    return Sample(took, meter.read(), memory.before_bytes, memory.most_bytes)


def _outcome(events: int, samples: dict[str, list[Sample]]) -> Outcome:
    seconds = {name: [sample.seconds for sample in taken] for name, taken in samples.items()}
    rows = [
        (
            name,
            span(statistic.spread([events / one for one in seconds[name]])),
            span(statistic.ratio(seconds[_BARE], seconds[name])),
            ", ".join(f"{part} {number(_median(taken, part))}" for part in taken[0].cores),
        )
        for name, taken in samples.items()
    ]
    served = samples[_STUB] + samples[_LIBRARY]
    # The first replay fills pools and caches; what the later ones add would be added by every further one.
    first = samples[_STUB][0]
    before, most = number(first.before_bytes / 2**20), number(first.most_bytes / 2**20)
    growth = max((sample.most_bytes - first.most_bytes) / 2**20 for sample in served)
    return Outcome(
        title="Replay",
        compares=_COMPARES,
        tables=(Table(f"{events:,} stored events", ("", "events/s", "to bare asyncpg", "cores used"), tuple(rows)),),
        verdicts=(
            Verdict.of(
                f"replay of {events:,} events to one client, to the rate of bare asyncpg",
                statistic.ratio(seconds[_BARE], seconds[_STUB]),
                "≥",
                0.5,
            ),
            Verdict("the server's memory after the first replay, added by further ones", growth, "≤", 16, unit="MiB"),
        ),
        notes=(
            "The verdict is on the generated stub; the table shows what the library adds.",
            f"The server had {before} MiB before the first replay, and at most {most} MiB in it.",
        ),
    )


def _median(samples: list[Sample], part: str) -> float:
    return statistic.spread([sample.cores[part] for sample in samples]).median
