"""The run's side of `bench.load.watcher`: begin to watch, and wait for all that was committed."""

import asyncio
import time
from dataclasses import dataclass

from bench import process
from bench.statistic import Latencies

_CATCH_UP_SECONDS = 60
_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Arrived:
    """How long the wait took, and the latencies of what came since the last look, if they were asked for."""

    seconds: float
    latencies: Latencies


async def begin(
    watcher: process.Generator,
    address: str,
    *,
    watchers: int = 1,
    channels: int = 1,
    stamp: str = "",
    resource_type: str = "RESOURCE_TYPE_HARDWARE",
) -> None:
    """Return once all watchers of the process are live."""
    await watcher.ask(address=address, watchers=watchers, channels=channels, stamp=stamp, resource_type=resource_type)


async def catch_up(watcher: process.Generator, events: int) -> Arrived:
    """Wait until so many events have arrived since the watchers began.

    Raises `process.Failed` when they do not, and when more arrive than were committed.
    """
    began = time.monotonic()
    count, latencies = 0, Latencies()
    while True:
        taken = await watcher.ask(do="take")
        count += taken["events"]
        latencies.merge(Latencies.parse(taken["latencies"]))
        took = time.monotonic() - began
        if count == events:
            return Arrived(took, latencies)
        if count > events or took > _CATCH_UP_SECONDS:
            raise process.Failed(f"{count} events arrived within {took:.0f} s, but {events} were committed")
        await asyncio.sleep(_LOOK_SECONDS)
