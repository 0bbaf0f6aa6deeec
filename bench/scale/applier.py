"""A client that installs releases of one resource each, several at once.

prepare   address                replies when it watches the ends of operations
apply     first, count, at_once  installs `count` releases, named from number `first` on; replies with the seconds
"""

import asyncio
import json
import time
import uuid

import tinkwell.client
from bench import generator
from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType

_LONGEST_SECONDS = 240
_MANIFEST = json.dumps({"resources": {"r0": {"type": "nothing", "config": {"number": 0}}}})


class Applier:
    """Installs releases, and remembers the operations that have not ended."""

    def __init__(self, client: tinkwell.client.Client) -> None:
        self._client = client
        self._ends: dict[str, asyncio.Event] = {}

    def call_back(self, event: Event) -> None:
        """Wake the lane that waits for the end of this operation."""
        if ended := self._ends.get(event.resource_id):
            ended.set()

    async def apply(self, first: int, count: int, at_once: int) -> float:
        """Install the releases; return the seconds. Raises `TimeoutError`."""
        numbers = iter(range(first, first + count))

        async def lane() -> None:
            for number in numbers:
                id_ = str(uuid.uuid4())
                ended = self._ends[id_] = asyncio.Event()
                await self._client.releases.apply(f"release-{number}", manifest=_MANIFEST, id=id_)
                await ended.wait()
                del self._ends[id_]

        began = time.perf_counter()
        async with asyncio.timeout(_LONGEST_SECONDS), asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(lane())
        return time.perf_counter() - began


async def work(link: generator.Link) -> None:
    """Carry out the messages one by one."""
    wanted = await link.receive()
    if wanted is None:
        return
    async with tinkwell.client.connect(wanted["address"]) as client:
        applier = Applier(client)
        watch = client.releases.watch(now=True, event_types=[EventType.OPERATION_SUCCEEDED])
        await watch.wait_live()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch.run(applier.call_back))
            link.reply()
            while (asked := await link.receive()) is not None:
                link.reply(seconds=await applier.apply(asked["first"], asked["count"], asked["at_once"]))
            watching.cancel()


if __name__ == "__main__":
    generator.run(work)
