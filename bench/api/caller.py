"""The load: one process and one grpc.aio channel to each side, over which so many calls are under way at any time.

call    address, call, count, seconds       replies with the number of calls, and their latencies
"""

import asyncio
import itertools
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc.aio

from bench import generator
from bench.api import site
from bench.fanout import etcd_wire
from bench.statistic import Latencies
from tinkwell.api.v1 import event_service_pb2 as event_pb
from tinkwell.api.v1 import hardware_service_pb2 as hardware_pb
from tinkwell.api.v1 import workflow_service_pb2 as workflow_pb

_TIMEOUT_SECONDS = 30
_VALUE_BYTES = 300

# Whoever is called, no number comes twice.
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Call:
    """A method, how its requests are made, and what its responses are."""

    method: str
    request: Callable[[int], Any]
    response: Any


def _push(number: int) -> hardware_pb.PushRequest:
    return hardware_pb.PushRequest(data=site.new_machine(str(uuid.uuid4()), number))


def _create(number: int) -> workflow_pb.CreateWorkflowRequest:
    worker = site.machine_id(number % site.MACHINES)
    return workflow_pb.CreateWorkflowRequest(template=site.TEMPLATE, hardware=f'{{"device_1": "{worker}"}}')


def _publish(number: int) -> event_pb.PublishRequest:
    about = site.machine_id(number % site.MACHINES)
    return event_pb.PublishRequest(name="rack.door_opened", resource_id=about, data=f'{{"number": {number}}}')


def _by_id(number: int) -> hardware_pb.ByIDRequest:
    return hardware_pb.ByIDRequest(id=site.machine_id(number % site.MACHINES))


def _put(number: int) -> Any:
    return etcd_wire.PutRequest(key=b"machines/%d" % number, value=bytes(_VALUE_BYTES))


def _range(number: int) -> Any:
    # Puts come first, and their numbers are the smallest.
    return etcd_wire.RangeRequest(key=b"machines/%d" % (number % site.MACHINES))


CALLS = {
    "Push": Call("/tinkwell.api.v1.HardwareService/Push", _push, hardware_pb.PushResponse),
    "CreateWorkflow": Call(
        "/tinkwell.api.v1.WorkflowService/CreateWorkflow", _create, workflow_pb.CreateWorkflowResponse
    ),
    "Publish": Call("/tinkwell.api.v1.EventService/Publish", _publish, event_pb.PublishResponse),
    "ByID": Call("/tinkwell.api.v1.HardwareService/ByID", _by_id, hardware_pb.Hardware),
    "Put": Call(etcd_wire.PUT, _put, etcd_wire.PutResponse),
    "Range": Call(etcd_wire.RANGE, _range, etcd_wire.RangeResponse),
}


async def load(channel: grpc.aio.Channel, call: Call, *, count: int, seconds: float) -> tuple[float, Latencies]:
    """Call again and again, so many at a time; returns calls a second and their latencies. Raises what a call does."""
    invoke: Callable[..., Any] = channel.unary_unary(
        call.method,
        request_serializer=lambda request: request.SerializeToString(),
        response_deserializer=call.response.FromString,
    )
    latencies = Latencies()
    began = time.monotonic()

    async def repeat(numbers: Iterator[int]) -> None:
        while (sent := time.monotonic()) < began + seconds:
            await invoke(call.request(next(numbers)), timeout=_TIMEOUT_SECONDS)
            latencies.add(time.monotonic() - sent)

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(repeat(_numbers))
    return latencies.count / (time.monotonic() - began), latencies


async def work(link: generator.Link) -> None:
    """Do what is asked."""
    channels: dict[str, grpc.aio.Channel] = {}
    while (asked := await link.receive()) is not None:
        address = asked["address"]
        if address not in channels:
            channels[address] = grpc.aio.insecure_channel(address)
        rate, latencies = await load(
            channels[address], CALLS[asked["call"]], count=asked["count"], seconds=asked["seconds"]
        )
        link.reply(rate=rate, latencies=latencies.message())
    for channel in channels.values():
        await channel.close()


if __name__ == "__main__":
    generator.run(work)
