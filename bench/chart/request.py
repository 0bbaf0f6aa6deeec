"""For how long a large chart that comes in holds a server up, as another caller sees it."""

import asyncio
import time
from typing import Any

import tinkwell.client
from bench import process, statistic
from bench.chart import thousand
from bench.context import Context
from bench.release.part import Part
from bench.result import Table, Verdict, number, span

WHAT = f"the longest call of another caller while {thousand.COUNT:,} subcharts are uploaded and to be installed"
BOUND = 50
_QUIET, _BUSY = "while nothing else is asked", "meanwhile"
_QUIET_SECONDS = 2.0


async def measure(context: Context) -> Part:
    """Upload and ask for it again and again, each time to a server of its own."""
    rounds = context.scale.choose(quick=1, full=context.scale.pairs)
    data = await asyncio.to_thread(thousand.large)
    quiet, busy, seconds = [], [], []
    for _ in range(rounds):
        async with (
            context.cluster.database() as url,
            process.server(url, directory=context.directory) as server,
            tinkwell.client.connect(server.address) as client,
            process.generator("bench.chart.caller", directory=context.directory) as caller,
        ):
            await caller.ask(address=server.address)
            await asyncio.sleep(_QUIET_SECONDS)
            await caller.ask(do="end")  # with the first calls, which take longer
            await asyncio.sleep(_QUIET_SECONDS)
            quiet.append(_milliseconds(await caller.ask(do="end")))
            began = time.perf_counter()
            chart = await client.releases.upload_chart(data)
            await client.releases.install("large", chart.digest)
            seconds.append(time.perf_counter() - began)
            busy.append(_milliseconds(await caller.ask(do="end")))
    longest = statistic.spread(busy)
    context.say(f"chart: while a large one is taken, the longest other call takes {number(longest.median)} ms")
    header = ("upload and request, s", f"longest other call {_QUIET}, ms", f"{_BUSY}, ms")
    cells = (span(statistic.spread(seconds)), span(statistic.spread(quiet)), span(longest))
    title = f"A chart of {thousand.COUNT:,} subcharts ({len(data) / 1024:,.0f} KiB) is sent, {rounds} rounds"
    return Part(Table(title, header, (cells,)), (Verdict.of(WHAT, longest, "≤", BOUND, unit="ms"),))


def _milliseconds(told: dict[str, Any]) -> float:
    """Return the longest call of a reply; raises `process.Failed` where none was made."""
    if not told["calls"]:
        raise process.Failed("the other caller was not answered at all")
    return float(told["longest"]) * 1000
