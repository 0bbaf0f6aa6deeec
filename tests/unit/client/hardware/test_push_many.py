"""Many machines pushed by one call, on bad days."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest
from grpc import aio

import tinkwell.client
from tinkwell.api.v1 import hardware_service_pb2 as pb
from tinkwell.client import BulkChange, Client, blocking, errors
from tinkwell.client.hardware import push
from tinkwell.client.testing import FakeServer

Machine = dict[str, object]


def machines(count: int, **more: object) -> list[Machine]:
    return [{"id": str(uuid.uuid4())} | more for _ in range(count)]


async def test_requests_are_small_enough_for_the_server(server: FakeServer, client: Client) -> None:
    large = machines(3, metadata={"x": "x" * 100_000})
    await client.hardware.push_many([*machines(250), *large, *machines(200, metadata={"x": "x" * 1_000})])
    requests: list[pb.PushManyRequest] = server.requests("PushMany")
    assert sum(len(request.machines) for request in requests) == 453
    assert max(len(request.machines) for request in requests) == push.MAX_REQUEST_MACHINES
    sizes = [request.ByteSize() for request in requests if len(request.machines) > 1]
    assert max(sizes) <= push.MAX_REQUEST_BYTES + 4 * push.MAX_REQUEST_MACHINES


async def test_progress_may_be_told_to_a_coroutine(client: Client) -> None:
    told: list[BulkChange] = []

    async def note(done: BulkChange) -> None:
        await asyncio.sleep(0)
        told.append(done)

    done = await client.hardware.push_many(machines(150), on_progress=note)
    assert told[-1] == done == BulkChange(150, 150, 150)
    assert done.to_json() == {"stored": 150, "changed": 150, "revision": 150}


async def test_what_the_iterable_raises_reaches_the_caller(client: Client) -> None:
    def broken() -> Iterator[Machine]:
        yield from machines(150)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await client.hardware.push_many(broken())


async def test_what_the_hook_raises_reaches_the_caller(client: Client) -> None:
    def fail(done: BulkChange) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await client.hardware.push_many(machines(5), on_progress=fail)


async def test_a_refusal_reaches_a_caller_whose_machines_are_still_to_come(client: Client) -> None:
    is_closed = False

    async def slow() -> AsyncIterator[Machine]:
        nonlocal is_closed
        try:
            for machine in [*machines(50), *machines(1, id="x"), *machines(50)]:
                yield machine
            await asyncio.get_running_loop().create_future()
        finally:
            is_closed = True

    with pytest.raises(errors.InvalidField, match=r"machines\[50\]\.data\.id"):
        await client.hardware.push_many(slow())
    assert is_closed


async def test_a_caller_who_is_not_known_is_told_so() -> None:
    async with FakeServer(token="secret") as server, tinkwell.client.connect(server.address) as client:
        for _ in range(20):
            with pytest.raises(errors.Unauthenticated):
                await client.hardware.push_many(machines(500))


async def test_without_a_server_it_is_unavailable(server: FakeServer, client: Client) -> None:
    await server.stop()
    with pytest.raises(errors.Unavailable):
        await client.hardware.push_many(machines(5_000))


async def test_a_server_that_goes_away_meanwhile_is_unavailable(server: FakeServer, client: Client) -> None:
    stopping: list[asyncio.Task[None]] = []

    def stop(done: BulkChange) -> None:
        if not stopping:
            stopping.append(asyncio.ensure_future(server.stop()))

    async def endless() -> AsyncIterator[Machine]:
        while True:
            yield {"id": str(uuid.uuid4())}

    with pytest.raises((errors.Unavailable, errors.Closed)):
        await client.hardware.push_many(endless(), on_progress=stop)
    await asyncio.gather(*stopping)


@pytest.mark.parametrize("count", [0, 1, 20_000])
async def test_a_server_that_hangs_is_not_waited_for(count: int) -> None:
    async def hang(requests: object, context: Any) -> None:
        if count:
            await context.send_initial_metadata(((push.READY_KEY, "1"),))
        await asyncio.get_running_loop().create_future()

    hanging = aio.server()
    handler = grpc.stream_stream_rpc_method_handler(
        hang, pb.PushManyRequest.FromString, pb.PushManyResponse.SerializeToString
    )
    service = "tinkwell.api.v1.HardwareService"
    hanging.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {"PushMany": handler})])
    port = hanging.add_insecure_port("localhost:0")
    await hanging.start()
    try:
        async with tinkwell.client.connect(f"localhost:{port}", timeout_seconds=0.2) as client:
            with pytest.raises(errors.DeadlineExceeded):
                await client.hardware.push_many({"id": "x"} for _ in range(count))
    finally:
        await hanging.stop(None)


async def test_scripts_push_many_too(server: FakeServer) -> None:
    told: list[int] = []

    def run() -> BulkChange:
        with blocking.connect(server.address) as client:
            return client.hardware.push_many(machines(120), on_progress=lambda done: told.append(done.stored))

    assert await asyncio.to_thread(run) == BulkChange(120, 120, 120)
    assert told[-1] == 120
