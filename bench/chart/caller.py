"""Makes a small call again and again, and tells how long the longest took.

begin    address     replies once the first calls have been answered
end                  replies with the number of calls since, and the longest one in seconds
"""

import asyncio
import time

import tinkwell.client
from bench import generator

_PAUSE_SECONDS = 0.002


class _Caller:
    def __init__(self, client: tinkwell.client.Client) -> None:
        self.calls = 0
        self.longest = 0.0
        self._client = client

    async def run(self) -> None:
        """Call until it is cancelled."""
        while True:
            began = time.perf_counter()
            _ = [each async for each in self._client.releases.list()]
            self.longest = max(self.longest, time.perf_counter() - began)
            self.calls += 1
            await asyncio.sleep(_PAUSE_SECONDS)


async def work(link: generator.Link) -> None:
    """Do what the messages say."""
    wanted = await link.receive()
    if wanted is None:
        return
    async with tinkwell.client.connect(wanted["address"]) as client, asyncio.TaskGroup() as group:
        caller = _Caller(client)
        calling = group.create_task(caller.run())
        link.reply()
        while (await link.receive()) is not None:
            link.reply(calls=caller.calls, longest=caller.longest)
            caller.calls, caller.longest = 0, 0.0
        calling.cancel()


if __name__ == "__main__":
    generator.run(work)
