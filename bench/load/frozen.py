"""A consumer that opens a watch and does not read it, until it is told to.

freeze   address        replies once the watch is live
thaw     events         reads until so many events have come or the watch ends; replies with both
"""

import asyncio

import grpc
import grpc.aio

import tinkwell.client as _client  # noqa: F401  sets what gRPC reads when it is imported
from bench import generator
from bench.load.watcher import OPTIONS
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc

_SILENCE_SECONDS = 30


async def work(link: generator.Link) -> None:
    """Freeze, then thaw."""
    wanted = await link.receive()
    if wanted is None:
        return
    async with grpc.aio.insecure_channel(wanted["address"], options=OPTIONS) as channel:
        stub = event_service_pb2_grpc.EventServiceStub(channel)
        call = stub.Watch(pb.WatchRequest(now=True, resource_types=[pb.RESOURCE_TYPE_HARDWARE]))
        await call.read()
        link.reply(live=1)
        wanted = await link.receive()
        if wanted is None:
            return
        count, last, end = 0, 0, ""
        try:
            while count < wanted["events"]:
                async with asyncio.timeout(_SILENCE_SECONDS):
                    response = await call.read()
                if not isinstance(response, pb.WatchResponse):
                    end = "the end of the stream"
                    break
                for event in response.events:
                    if event.revision <= last:
                        raise AssertionError(f"{event.revision} came after {last}")
                    last = event.revision
                count += len(response.events)
        except grpc.aio.AioRpcError as error:
            end = f"{error.code().name}: {error.details()}"
        except TimeoutError:
            end = f"{_SILENCE_SECONDS} s of silence"
        link.reply(events=count, end=end)
        await link.receive()


if __name__ == "__main__":
    generator.run(work)
