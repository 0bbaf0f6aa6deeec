"""The two that are compared, as a load generator meets them: how to watch, how to write, and what a response holds."""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

import grpc.aio

import tinkwell.client as _client  # noqa: F401  sets what gRPC reads when it is imported
from bench.fanout import etcd_wire
from bench.load import machine
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc

OPTIONS = (("grpc.max_receive_message_length", 64 << 20),)
_ANSWER_SECONDS = 60
_PREFIX = b"hardware/"
_AFTER_PREFIX = b"hardware0"

Read = Callable[[], Awaitable[Any]]
Put = Callable[[str], Awaitable[None]]


class Peer(Protocol):
    """Both sides are used the same way: grpc.aio, and messages parsed by protobuf."""

    async def watch(self, channel: grpc.aio.Channel) -> Read:
        """Begin a watch; what is returned reads one response after another."""

    def events(self, response: Any) -> Iterator[tuple[int, str]]:
        """Yield the revision of each event, and the text that holds its value."""

    async def writers(self, stack: contextlib.AsyncExitStack, address: str, count: int) -> list[Put]:
        """Return functions that each write one value and return once it is committed."""


class Tinkwell:
    """Watches through the generated stub; writes machines with SQL, over a connection for each writer."""

    async def watch(self, channel: grpc.aio.Channel) -> Read:
        stub = event_service_pb2_grpc.EventServiceStub(channel)
        read: Read = stub.Watch(pb.WatchRequest(now=True, resource_types=[pb.RESOURCE_TYPE_HARDWARE])).read
        return read

    def events(self, response: pb.WatchResponse) -> Iterator[tuple[int, str]]:
        for event in response.events:
            yield event.revision, event.data

    async def writers(self, stack: contextlib.AsyncExitStack, address: str, count: int) -> list[Put]:
        return [(await stack.enter_async_context(machine.Writer(address))).insert for _ in range(count)]


class Etcd:
    """Watches and writes by etcd's API; each value goes to a key of its own, below the prefix that is watched."""

    async def watch(self, channel: grpc.aio.Channel) -> Read:
        call = channel.stream_stream(
            etcd_wire.WATCH, etcd_wire.WatchRequest.SerializeToString, etcd_wire.WatchResponse.FromString
        )()
        request = etcd_wire.WatchRequest()
        request.create_request.key, request.create_request.range_end = _PREFIX, _AFTER_PREFIX
        await call.write(request)
        read: Read = call.read
        return read

    def events(self, response: Any) -> Iterator[tuple[int, str]]:
        for event in response.events:
            yield event.kv.mod_revision, event.kv.value.decode()

    async def writers(self, stack: contextlib.AsyncExitStack, address: str, count: int) -> list[Put]:
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(address, options=OPTIONS))
        method = channel.unary_unary(
            etcd_wire.PUT, etcd_wire.PutRequest.SerializeToString, etcd_wire.PutResponse.FromString
        )

        async def put(value: str) -> None:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await method(etcd_wire.PutRequest(key=_PREFIX + str(uuid.uuid4()).encode(), value=value.encode()))

        return [put] * count


PEERS: dict[str, Peer] = {"Tinkwell": Tinkwell(), "etcd": Etcd()}
