"""One machine that changes now and then, and one watcher of it in the same process, so that one clock times both.

ping   address, url, changes     replies with the latencies from before the commit to the library's callback
"""

import asyncio
import random
import time
import uuid

import asyncpg

import tinkwell.client
from bench import generator
from bench.statistic import Latencies
from tinkwell.core.event.kinds import EventType

_TIMEOUT_SECONDS = 30
# Long enough for the server's reader to be asleep again.
_PAUSE_SECONDS = (0.03, 0.06)
_INSERT = "INSERT INTO hardware (id) VALUES ($1)"
_UPDATE = "UPDATE hardware SET metadata = jsonb_build_object('change', $2::integer) WHERE id = $1"


async def ping(address: str, url: str, changes: int) -> Latencies:
    """Change the machine so many times and time each change."""
    latencies = Latencies()
    machine = uuid.uuid4()
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_INSERT, machine)
        async with tinkwell.client.connect(address) as client:
            # A watch from now may still bring the creation.
            watch = client.hardware.watch(resource_id=str(machine), now=True, event_types=[EventType.UPDATED])
            async with watch:
                # The first ones warm up plans and caches.
                for change in range(-3, changes):
                    await asyncio.sleep(random.uniform(*_PAUSE_SECONDS))
                    began = time.perf_counter()
                    committing = asyncio.ensure_future(connection.execute(_UPDATE, machine, change))
                    async with asyncio.timeout(_TIMEOUT_SECONDS):
                        await anext(watch)
                        took = time.perf_counter() - began
                        await committing
                    if change >= 0:
                        latencies.add(took)
    finally:
        await connection.close()
    return latencies


async def work(link: generator.Link) -> None:
    """Do what is asked."""
    while (asked := await link.receive()) is not None:
        latencies = await ping(asked["address"], asked["url"], asked["changes"])
        link.reply(latencies=latencies.message())


if __name__ == "__main__":
    generator.run(work)
