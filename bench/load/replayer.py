"""The client library reading the log from its beginning.

replay   address, events     replies with the seconds it took
decode   events              replies with the seconds that as many events take when the bytes are in memory already
"""

import asyncio
import time
from typing import Any

import grpc.aio

import tinkwell.client
from bench import generator
from bench.load.watcher import OPTIONS
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc
from tinkwell.client.watch import message

_WATCH = "/tinkwell.api.v1.EventService/Watch"


async def replay(address: str, events: int) -> dict[str, Any]:
    """Take the first events of the log from the client library, one after the other."""
    async with tinkwell.client.connect(address) as client:
        began = time.perf_counter()
        count, last = 0, 0
        async for event in client.events.watch(from_revision=1):
            if event.revision <= last:
                raise AssertionError(f"{event.revision} came after {last}")
            last = event.revision
            count += 1
            if count == events:
                break
        return {"seconds": time.perf_counter() - began}


async def stub(address: str, events: int) -> dict[str, Any]:
    """Take the first events of the log in parsed responses."""
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
        began = time.perf_counter()
        call = event_service_pb2_grpc.EventServiceStub(channel).Watch(pb.WatchRequest(from_revision=1))
        count, last = 0, 0
        while count < events:
            response = await call.read()
            assert isinstance(response, pb.WatchResponse)
            for event in response.events:
                if event.revision <= last:
                    raise AssertionError(f"{event.revision} came after {last}")
                last = event.revision
            count += len(response.events)
        took = time.perf_counter() - began
        call.cancel()
    return {"seconds": took}


async def decode(address: str, events: int) -> dict[str, Any]:
    """Turn a response that is in memory into the library's events, again and again."""
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
        # Without a deserializer, responses stay bytes.
        call: Any = channel.unary_stream(_WATCH, request_serializer=pb.WatchRequest.SerializeToString)(
            pb.WatchRequest(from_revision=1)
        )
        await call.read()
        response = await call.read()
        call.cancel()
    size = len(pb.WatchResponse.FromString(response).events)
    began = time.perf_counter()
    for _ in range(max(events // size, 1)):
        for event in pb.WatchResponse.FromString(response).events:
            message.event(event)
    return {"seconds": (time.perf_counter() - began) * events / (max(events // size, 1) * size)}


_ACTS = {"replay": replay, "stub": stub, "decode": decode}


async def work(link: generator.Link) -> None:
    """Do what is asked."""
    while (asked := await link.receive()) is not None:
        link.reply(**await _ACTS[asked["do"]](asked["address"], asked["events"]))
        await asyncio.sleep(0)


if __name__ == "__main__":
    generator.run(work)
