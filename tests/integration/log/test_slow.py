"""Consumers that do not read: they cost little, hold up nobody, and are told in the end."""

import asyncio
import json
import urllib.request
import uuid
from collections.abc import AsyncIterator

import asyncpg
import grpc.aio
import pytest

import tinkwell.client
from support import server as servers
from support.waiting import eventually
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc
from tinkwell.client import errors

# Nothing is read ahead for the application, so that one that does not read soon stops the server's writing.
_NARROW = (("grpc.http2.lookahead_bytes", 1_024), ("grpc.http2.bdp_probe", 0), ("grpc.use_local_subchannel_pool", 1))
# Of each event; more than a transport hides takes few of them.
_FILLER = json.dumps({"filler": "x" * 500_000})
STALL_SECONDS = 0.5


@pytest.fixture
async def server(database_url: str) -> AsyncIterator[servers.Server]:
    async with servers.running(database_url, max_stall_seconds=STALL_SECONDS, ring_bytes=8 << 20) as running:
        yield running


async def watchers(server: servers.Server) -> int:
    """Ask the server how many watchers it has."""

    def fetch() -> str:
        with urllib.request.urlopen(f"http://{server.http_address}/metrics", timeout=5) as response:
            return str(response.read().decode())

    lines = (await asyncio.to_thread(fetch)).splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith("tinkwell_watchers "))))


async def write(database_url: str, count: int) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        for _ in range(count):
            await connection.execute("INSERT INTO hardware (id, metadata) VALUES ($1, $2)", uuid.uuid4(), _FILLER)
    finally:
        await connection.close(timeout=5)


async def test_frozen_consumers_are_ended_and_told_while_others_get_everything(server: servers.Server) -> None:
    """One speaks gRPC and learns why; one uses the client library, which goes on where it was."""
    count = 30
    expected = list(range(1, count + 1))
    async with (
        grpc.aio.insecure_channel(server.address, options=_NARROW) as channel,
        tinkwell.client.connect(server.address) as client,
        tinkwell.client.connect(server.address) as other,
        other.events.watch(from_revision=1) as frozen,
    ):
        call = event_service_pb2_grpc.EventServiceStub(channel).Watch(pb.WatchRequest(from_revision=1))
        assert isinstance(await call.read(), pb.WatchResponse)
        async with client.events.watch(from_revision=1) as watch:
            await write(server.database_url, count)
            assert [(await anext(watch)).revision for _ in range(count)] == expected
            # Only who reads is left.
            await eventually(lambda: _has_watchers(server, 1), deadline_seconds=20)
        received: list[int] = []
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await read(call, received)
        assert isinstance(errors.from_rpc(caught.value, server.address), errors.TooSlow)
        assert received == expected[: len(received)]
        assert len(received) < count
        async with asyncio.timeout(20):
            assert [(await anext(frozen)).revision for _ in range(count)] == expected


async def read(call: "grpc.aio.UnaryStreamCall[pb.WatchRequest, pb.WatchResponse]", received: list[int]) -> None:
    while isinstance(response := await call.read(), pb.WatchResponse):
        received += [event.revision for event in response.events]


async def _has_watchers(server: servers.Server, count: int) -> bool:
    return await watchers(server) == count
