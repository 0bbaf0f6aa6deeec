"""The two readers in turn over one log, and the server's memory meanwhile."""

from collections import defaultdict

from bench import process, statistic, usage
from bench.context import Context
from bench.replay import log
from bench.result import Outcome, Table, Verdict, number, span

_REPLAY, _BARE, _DECODE = "replay to the client library", "bare asyncpg", "the library's decoding, from memory"
_COMPARES = """\
A client of the Python library watches from revision 1 and takes every stored event; the server reads them from the
table, since its memory holds none of them. Beside it, asyncpg alone reads the same rows of the same table by one
cursor, without a server, a network or an encoding between; and the library decodes as many events from bytes in
memory, which is the least that any replay must cost its client.
"""


async def run(context: Context) -> Outcome:
    """Measure."""
    events = context.scale.choose(quick=20_000, full=1_000_000)
    async with (
        context.cluster.database() as url,
        process.generator("bench.load.replayer", directory=context.directory) as replayer,
        process.generator("bench.load.table_reader", directory=context.directory) as table_reader,
    ):
        await log.fill(url, events)
        async with process.server(url, directory=context.directory) as server:
            seconds: dict[str, list[float]] = defaultdict(list)
            memory: list[usage.Memory] = []
            cores: list[dict[str, float]] = []
            for name in statistic.interleave((_REPLAY, _BARE), context.scale.pairs):
                if name == _BARE:
                    took = (await table_reader.ask(url=url, events=events))["seconds"]
                else:
                    pids = {"PostgreSQL": context.cluster.pid, "server": server.pid, "client": replayer.pid}
                    meter = usage.Meter(pids)
                    with usage.Memory.watched(server.pid) as watched:
                        took = (await replayer.ask(do="replay", address=server.address, events=events))["seconds"]
                    memory.append(watched)
                    cores.append(meter.read())
                seconds[name].append(took)
                context.say(f"replay, {name}: {number(events / took)} events/s")
            for _ in range(context.scale.pairs):
                asked = await replayer.ask(do="decode", address=server.address, events=events)
                seconds[_DECODE].append(asked["seconds"])
    return _outcome(events, seconds, memory, cores)


def _outcome(
    events: int, seconds: dict[str, list[float]], memory: list[usage.Memory], cores: list[dict[str, float]]
) -> Outcome:
    speed = statistic.ratio(seconds[_BARE], seconds[_REPLAY])
    rows = [
        (name, span(statistic.spread([events / one for one in seconds[name]]))) for name in (_REPLAY, _BARE, _DECODE)
    ]
    # The first replay fills pools and caches; what the later ones add would be added by every further one.
    growth = statistic.spread([(one.most_bytes - memory[0].most_bytes) / 2**20 for one in memory])
    first = (memory[0].before_bytes / 2**20, memory[0].most_bytes / 2**20)
    shares = ", ".join(f"{part} {number(statistic.spread([one[part] for one in cores]).median)}" for part in cores[0])
    return Outcome(
        title="Replay",
        compares=_COMPARES,
        tables=(Table(f"{events:,} stored events", ("", "events/s"), tuple(rows)),),
        verdicts=(
            Verdict.of(f"replay of {events:,} events to the rate of bare asyncpg", speed, "≥", 0.5),
            Verdict(
                "the server's memory after the first replay, added by further ones",
                growth.high,
                "≤",
                16,
                unit="MiB",
            ),
        ),
        notes=(
            f"Cores used during a replay: {shares}.",
            f"The server had {number(first[0])} MiB before the first replay and at most {number(first[1])} MiB in it.",
        ),
    )
