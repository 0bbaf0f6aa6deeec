"""Writers to either peer in one process: `bench.generator` runs it.

    open     peer, address, writers, size      replies once they are connected
    write    seconds, rate                     replies with the number of commits and the time that they took

Each writer writes one value after another, waiting for each commit; without a rate (commits a second, over all writers)
as fast as it can, else at a random phase. A value holds the moment at which it was handed over.
"""

import asyncio
import contextlib
import random
import time

from bench import generator
from bench.fanout.peer import PEERS, Put
from bench.load import stamp


async def write(put: Put, *, size: int, until: float, period: float) -> int:
    """Write a value each period, in seconds, and return how many were written."""
    count = 0
    due = time.monotonic() + random.uniform(0, period)
    while (now := max(due, time.monotonic())) < until:
        if period:
            await asyncio.sleep(now - time.monotonic())
            due += period
        await put(stamp.write(size))
        count += 1
    return count


async def write_all(puts: list[Put], *, size: int, seconds: float, rate: float | None) -> dict[str, object]:
    """Let all write for so long."""
    began = time.monotonic()
    period = len(puts) / rate if rate else 0.0
    async with asyncio.TaskGroup() as tasks:
        writing = [tasks.create_task(write(put, size=size, until=began + seconds, period=period)) for put in puts]
    return {"commits": sum(task.result() for task in writing), "seconds": time.monotonic() - began}


async def work(link: generator.Link) -> None:
    """Connect, then write as often as asked."""
    wanted = await link.receive()
    if wanted is None:
        return
    async with contextlib.AsyncExitStack() as stack:
        puts = await PEERS[wanted["peer"]].writers(stack, wanted["address"], wanted["writers"])
        link.reply(connected=len(puts))
        while (asked := await link.receive()) is not None:
            link.reply(**await write_all(puts, size=wanted["size"], seconds=asked["seconds"], rate=asked["rate"]))


if __name__ == "__main__":
    generator.run(work)
