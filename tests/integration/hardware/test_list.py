"""Long lists: complete, in order, of one moment, and never at the expense of other calls."""

import asyncio
import contextlib
import tracemalloc
import uuid

import grpc
import grpc.aio
import pytest
import sqlalchemy

from support import resource
from support.edge import refused
from support.resource import Resources
from support.waiting import eventually
from tinkwell.api.v1 import hardware_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.server.hardware.service.operations import HardwareService

_MANY = 3_000
# Machines of one batch share their moment of creation, so that the id decides; psql may also make strange ones.
_FILL = """
    INSERT INTO hardware (id, metadata, network, created_at)
    SELECT gen_random_uuid(), jsonb_build_object('n', n, 'pad', repeat('x', 1000)),
           CASE n % 3 WHEN 0 THEN '{}' WHEN 1 THEN '{"interfaces": [{"dhcp": {"lease_time": "soon"}}, 7]}'
                      ELSE '{"interfaces": []}' END::jsonb,
           now() - (n / 10) * interval '1 second'
      FROM generate_series(1, $1::int) n
"""
_LARGE = """
    INSERT INTO hardware (id, metadata)
    SELECT gen_random_uuid(), jsonb_build_object('x', repeat('x', 100000)) FROM generate_series(1, $1::int)
"""
_EXPECTED = "SELECT id::text FROM hardware WHERE deleted_at IS NULL ORDER BY created_at, id"


async def _read_on(call: "grpc.aio.UnaryStreamCall[pb.AllRequest, pb.Hardware]") -> None:
    while await call.read() is not grpc.aio.EOF:
        pass


async def expected(resources: Resources) -> list[str]:
    return [row["id"] for row in await resources.fetch(_EXPECTED)]


async def test_all_machines_are_listed_oldest_first(resources: Resources) -> None:
    assert [found async for found in resources.hardware.All(pb.AllRequest())] == []
    await resources.fetch(_FILL, _MANY)
    listed = [found.id async for found in resources.hardware.All(pb.AllRequest())]
    assert len(listed) == _MANY
    assert listed == await expected(resources)


async def test_a_list_is_of_one_moment(resources: Resources) -> None:
    await resources.fetch(_FILL, _MANY)
    before = await expected(resources)
    listed: list[tuple[str, int]] = []
    async with contextlib.aclosing(HardwareService(resources.database).list_all()) as machines:
        async for found in machines:
            if not listed:
                await resources.fetch("UPDATE hardware SET metadata = '{}', deleted_at = now()")
                await resources.fetch(_FILL, 10)
            listed.append((found.id, found.version))
    assert listed == [(hardware_id, 1) for hardware_id in before]


async def test_a_list_that_nobody_reads_on_gives_its_connection_back_at_once(database_url: str) -> None:
    async with resource.serving(database_url, pool_size=1) as resources:
        await resources.fetch(_FILL, _MANY)
        for _ in range(3):
            call = resources.hardware.All(pb.AllRequest())
            await call.read()
            call.cancel()
            # The only connection of the pool is free again, or this would wait for ten seconds and fail.
            async with asyncio.timeout(5):
                request = pb.ByIDRequest(id=str(uuid.uuid4()))
                with pytest.raises(grpc.aio.AioRpcError, match="does not exist"):
                    await resources.hardware.ByID(request)


async def test_a_client_that_stops_reading_loses_its_list_and_others_get_the_connection(database_url: str) -> None:
    async with resource.serving(database_url, pool_size=1, write_timeout_seconds=0.1) as resources:
        # More than the transport buffers, so that a write must wait for the client.
        await resources.fetch(_LARGE, 300)
        call = resources.hardware.All(pb.AllRequest())
        await call.read()
        async with asyncio.timeout(10):
            request = pb.ByIDRequest(id=str(uuid.uuid4()))
            assert (await refused(resources.hardware.ByID(request))).code.name == "NOT_FOUND"
        told = await refused(_read_on(call))
        assert (told.code.name, told.reason) == ("RESOURCE_EXHAUSTED", "TOO_SLOW")


async def test_a_list_that_takes_too_long_ends(database_url: str) -> None:
    async with resource.serving(database_url, list_timeout_seconds=0.1) as resources:
        await resources.fetch(_LARGE, 300)
        call = resources.hardware.All(pb.AllRequest())
        labels = {"method": "/tinkwell.api.v1.HardwareService/All", "code": "UNAVAILABLE"}

        async def read_slowly() -> None:
            await call.read()
            await eventually(lambda: resources.edge.registry.get_sample_value("tinkwell_grpc_calls_total", labels) == 1)
            await _read_on(call)

        told = await refused(read_slowly())
        assert (told.code.name, told.reason) == ("UNAVAILABLE", "UNAVAILABLE")


async def test_a_list_whose_reader_pauses_too_long_ends_as_unavailable(resources: Resources) -> None:
    await resources.fetch(_FILL, _MANY)
    with pytest.raises(errors.Unavailable):
        await _read_with_a_pause(resources)
    assert len([found async for found in resources.hardware.All(pb.AllRequest())]) == _MANY


async def _read_with_a_pause(resources: Resources) -> None:
    query = sqlalchemy.text("SELECT n FROM generate_series(1, 1000) n").execution_options(yield_per=10)
    async with resources.database.snapshot() as connection:
        await connection.execute(sqlalchemy.text("SET idle_in_transaction_session_timeout = '20ms'"))
        pid = await connection.scalar(sqlalchemy.text("SELECT pg_backend_pid()"))

        async def has_ended() -> bool:
            return not await resources.fetch("SELECT 1 FROM pg_stat_activity WHERE pid = $1", pid)

        async with connection.stream(query) as rows:
            async for _ in rows:
                await eventually(has_ended)


async def test_lists_use_half_of_the_pool_and_others_wait_their_turn(database_url: str) -> None:
    async with (
        resource.serving(database_url, pool_size=4, long_read_wait_seconds=0.01) as resources,
        contextlib.AsyncExitStack() as stack,
    ):
        for _ in range(2):
            _ = await stack.enter_async_context(resources.database.snapshot())
        # Other calls go on.
        with pytest.raises(grpc.aio.AioRpcError, match="does not exist"):
            await resources.hardware.ByID(pb.ByIDRequest(id=str(uuid.uuid4())))
        told = await refused(resources.hardware.All(pb.AllRequest()).read())
        assert (told.code.name, told.reason) == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
        await stack.aclose()
        assert [found async for found in resources.hardware.All(pb.AllRequest())] == []


async def test_a_list_of_any_length_is_never_in_memory_as_a_whole(resources: Resources) -> None:
    await resources.fetch(_LARGE, 500)
    tracemalloc.start()
    try:
        async with contextlib.aclosing(HardwareService(resources.database).list_all()) as machines:
            sizes = [len(found.metadata) async for found in machines]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(sizes) > 50_000_000
    assert peak < 25_000_000
