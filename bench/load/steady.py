"""Writers at a steady pace that remember how long each commit took.

write   url, writers, pause_seconds     replies once all of them write
take                                    replies with the commits since the last one, and the slowest's seconds
stop                                    the same, when all of them have stopped
"""

import asyncio
import contextlib
import json
import random
import time

from bench import generator
from bench.load import machine

_METADATA = json.dumps({"state": "provisioning", "facility": {"facility_code": "lab"}})


class Steady:
    """The writers of this process."""

    def __init__(self, url: str, writers: int, pause_seconds: float) -> None:
        self._url = url
        self._pause_seconds = pause_seconds
        self._not_begun = writers
        self.all_began = asyncio.Event()
        self.stop = asyncio.Event()
        self.commits = 0
        self.slowest = 0.0

    async def write(self) -> None:
        """Insert machine after machine until all are to stop."""
        async with machine.Writer(self._url) as writer:
            await writer.insert(_METADATA)
            self.commits += 1
            self._not_begun -= 1
            if not self._not_begun:
                self.all_began.set()
            while not self.stop.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.stop.wait(), self._pause_seconds * random.uniform(0.5, 1.5))
                began = time.perf_counter()
                await writer.insert(_METADATA)
                self.slowest = max(self.slowest, time.perf_counter() - began)
                self.commits += 1

    def take(self) -> dict[str, object]:
        """Return it as a reply, and begin anew."""
        answer: dict[str, object] = {"commits": self.commits, "slowest": self.slowest}
        self.commits, self.slowest = 0, 0.0
        return answer


async def work(link: generator.Link) -> None:
    """Write, and answer."""
    wanted = await link.receive()
    if wanted is None:
        return
    steady = Steady(wanted["url"], wanted["writers"], wanted["pause_seconds"])
    async with asyncio.TaskGroup() as tasks:
        for _ in range(wanted["writers"]):
            tasks.create_task(steady.write())
        await steady.all_began.wait()
        link.reply(writing=wanted["writers"])
        while (asked := await link.receive()) is not None and asked["do"] == "take":
            link.reply(**steady.take())
        steady.stop.set()
    link.reply(**steady.take())
    await link.receive()


if __name__ == "__main__":
    generator.run(work)
