"""One peer with its watchers and writers, ready for samples."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from bench import process, usage
from bench.context import Context
from bench.fanout import etcd
from bench.statistic import Latencies

WRITERS = 32
WATCHING_PROCESSES = 2
VALUE_BYTES = 300
_WARM_UP_SECONDS = 0.5
_CATCH_UP_SECONDS = 120
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Sample:
    """What happened in one window; rates are a second, `delivered` is over all watchers."""

    committed: float
    delivered: float
    messages: float
    latencies: Latencies
    cores: dict[str, float]


class Arena:
    """A peer under load."""

    def __init__(
        self, writer: process.Generator, crowds: list[process.Generator], watchers: int, pids: dict[str, int]
    ) -> None:
        self._writer = writer
        self._crowds = crowds
        self._watchers = watchers
        self._pids = pids

    async def sample(self, *, seconds: float, rate: float | None) -> Sample:
        """Write, as fast as possible or at a rate, and count what is delivered meanwhile.

        What was written at a rate has been delivered to every watcher when this returns; `process.Failed` is raised
        otherwise. Without a rate that could take long, and this must be the last sample.
        """
        await self._writer.tell(seconds=_WARM_UP_SECONDS + seconds, rate=rate)
        await asyncio.sleep(_WARM_UP_SECONDS)
        before = await self._ask("discard")
        meter = usage.Meter(self._pids)
        await asyncio.sleep(seconds)
        cores = meter.read()
        after = await self._ask("take")
        written = await self._writer.reply()
        if rate:
            await self._catch_up(written["commits"] * self._watchers - _sum(before) - _sum(after))
        latencies = Latencies()
        for answer in after:
            latencies.merge(Latencies.parse(answer["latencies"]))
        spans = [end["at"] - begin["at"] for begin, end in zip(before, after, strict=True)]
        return Sample(
            written["commits"] / written["seconds"],
            sum(answer["events"] / span for answer, span in zip(after, spans, strict=True)),
            sum(answer["messages"] / span for answer, span in zip(after, spans, strict=True)),
            latencies,
            cores,
        )

    async def _ask(self, what: str) -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(crowd.ask(do=what) for crowd in self._crowds)))

    async def _catch_up(self, missing: int) -> None:
        deadline = time.monotonic() + _CATCH_UP_SECONDS
        while missing > 0 and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_SECONDS)
            missing -= _sum(await self._ask("discard"))
        if missing:
            raise process.Failed(f"{missing} events were not delivered, or came more than once if negative")


def _sum(answers: list[dict[str, Any]]) -> int:
    return sum(answer["events"] for answer in answers)


@contextlib.asynccontextmanager
async def running(context: Context, name: str, watchers: int) -> AsyncIterator[Arena]:
    """Run a peer, with everything connected to it."""
    async with contextlib.AsyncExitStack() as stack:
        if name == "etcd":
            theirs = await stack.enter_async_context(etcd.running(context.directory))
            reading = writing = theirs.address
            pids = {"PostgreSQL": None, "server": theirs.pid}
        else:
            writing = await stack.enter_async_context(context.cluster.database())
            ours = await stack.enter_async_context(process.server(writing, directory=context.directory))
            reading = ours.address
            pids = {"PostgreSQL": context.cluster.pid, "server": ours.pid}
        crowds = [await _generator(context, stack, "watcher", str(place)) for place in range(WATCHING_PROCESSES)]
        writer = await _generator(context, stack, "writer")
        for crowd in crowds:
            await crowd.ask(peer=name, address=reading, watchers=watchers // WATCHING_PROCESSES)
        await writer.ask(peer=name, address=writing, writers=WRITERS, size=VALUE_BYTES)
        metered = {part: pid for part, pid in pids.items() if pid is not None}
        metered |= {f"watchers {place + 1}": crowd.pid for place, crowd in enumerate(crowds)}
        yield Arena(writer, crowds, watchers, metered | {"writers": writer.pid})


async def _generator(
    context: Context, stack: contextlib.AsyncExitStack, kind: str, number: str = ""
) -> process.Generator:
    module = f"bench.fanout.{kind}"
    return await stack.enter_async_context(
        process.generator(module, directory=context.directory, name=f"{module}{number}")
    )
