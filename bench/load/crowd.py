"""Watchers of a Tinkwell server to whom nothing happens: each waits for the events of a machine that does not exist.

open   address, watchers, channels     replies once all of them are live
take                                   replies with the number of bookmarks that came since the last `take`
"""

import asyncio
import contextlib
import uuid

from bench import generator
from bench.load.watcher import connect
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc

# How many watchers are opened at once: how a server bears a rush is not what is measured.
_AT_ONCE = 200


class Crowd:
    """The watchers of this process."""

    def __init__(self, watchers: int) -> None:
        self.all_live = asyncio.Event()
        self.bookmarks = 0
        self._not_live = watchers
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def follow(self, stub: event_service_pb2_grpc.EventServiceStub) -> None:
        """Open a watch and take bookmarks from it until cancelled."""
        wanted = pb.WatchRequest(now=True, resource_types=[pb.RESOURCE_TYPE_HARDWARE], resource_id=str(uuid.uuid4()))
        async with self._turn:
            call = stub.Watch(wanted)
            await call.read()
        self._not_live -= 1
        if not self._not_live:
            self.all_live.set()
        while isinstance(response := await call.read(), pb.WatchResponse):
            if response.events:
                raise AssertionError("an idle watcher received an event")
            self.bookmarks += 1
        raise ConnectionError("the server ended a watch")


async def work(link: generator.Link) -> None:
    """Open the watchers, then answer."""
    wanted = await link.receive()
    if wanted is None:
        return
    watchers, channels = wanted["watchers"], wanted["channels"]
    crowd = Crowd(watchers)
    async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        stubs = await connect(stack, wanted["address"], channels)
        following = [tasks.create_task(crowd.follow(stubs[number % channels])) for number in range(watchers)]
        await crowd.all_live.wait()
        link.reply(live=watchers)
        while await link.receive() is not None:
            link.reply(bookmarks=crowd.bookmarks)
            crowd.bookmarks = 0
        for task in following:
            task.cancel()


if __name__ == "__main__":
    generator.run(work)
