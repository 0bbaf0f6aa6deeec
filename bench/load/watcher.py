"""Watchers of a Tinkwell server in one process: they count events and take latencies.

    open   address, watchers, channels, stamp, resource_type     replies once all of them are live
    take                                                         replies with what came since the last `take`

Each watcher is a call of the generated stub, over one of so many connections. `stamp` says where an event's latency
begins: `sent` is the moment that its data holds (see `bench.load.stamp`), `created` the event's `created_at`, "" takes
none.
"""

import asyncio
import contextlib
import time
from array import array

import grpc.aio

import tinkwell.client as _client  # noqa: F401  sets what gRPC reads when it is imported
from bench import generator
from bench.load import stamp
from bench.statistic import Latencies
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc

OPTIONS = (("grpc.max_receive_message_length", 16 << 20),)


class Received:
    """What the watchers of a process have received since the last `take`."""

    def __init__(self, watchers: int) -> None:
        self.all_live = asyncio.Event()
        self._not_live = watchers
        self.events = 0
        self.messages = 0
        self.nanoseconds = array("q")

    def begin(self) -> None:
        """Note that one more watcher is live."""
        self._not_live -= 1
        if not self._not_live:
            self.all_live.set()

    def take(self) -> dict[str, object]:
        """Return it as a reply, and begin anew."""
        latencies = Latencies()
        for nanoseconds in self.nanoseconds:
            latencies.add(nanoseconds / 1e9)
        answer = {"events": self.events, "messages": self.messages, "latencies": latencies.message()}
        self.events, self.messages, self.nanoseconds = 0, 0, array("q")
        return answer


async def follow(
    call: "grpc.aio.UnaryStreamCall[pb.WatchRequest, pb.WatchResponse]", begin: str, got: Received
) -> None:
    """Take what comes over one call until it is cancelled."""
    read = call.read
    while isinstance(response := await read(), pb.WatchResponse):
        now = time.time_ns()
        if response.created:
            got.begin()
        if not response.events:
            continue
        got.messages += 1
        got.events += len(response.events)
        if begin == "sent":
            got.nanoseconds.extend(now - stamp.read(event.data) for event in response.events)
        elif begin == "created":
            got.nanoseconds.extend(now - event.created_at.ToNanoseconds() for event in response.events)
    raise ConnectionError("the server ended a watch")


async def connect(
    stack: contextlib.AsyncExitStack, address: str, channels: int
) -> list[event_service_pb2_grpc.EventServiceStub]:
    """Return stubs, each with a connection of its own, which channels to one address share otherwise."""
    options = (*OPTIONS, ("grpc.use_local_subchannel_pool", 1))
    return [
        event_service_pb2_grpc.EventServiceStub(
            await stack.enter_async_context(grpc.aio.insecure_channel(address, options=options))
        )
        for _ in range(channels)
    ]


async def work(link: generator.Link) -> None:
    """Open the watchers, then answer."""
    wanted = await link.receive()
    if wanted is None:
        return
    got = Received(wanted["watchers"])
    request = pb.WatchRequest(now=True, resource_types=[pb.ResourceType.Value(wanted["resource_type"])])
    async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        stubs = await connect(stack, wanted["address"], wanted["channels"])
        watching = [
            tasks.create_task(follow(stubs[number % len(stubs)].Watch(request), wanted["stamp"], got))
            for number in range(wanted["watchers"])
        ]
        await got.all_live.wait()
        link.reply(live=wanted["watchers"])
        while await link.receive() is not None:
            link.reply(**got.take())
        for task in watching:
            task.cancel()


if __name__ == "__main__":
    generator.run(work)
