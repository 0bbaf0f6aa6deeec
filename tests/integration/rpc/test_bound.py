"""What one connection may have open, and what bounded services are told apart by, on real servers."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
import trustme
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from support import http2, process, tink
from support import server as servers
from support.edge import refused
from support.server import Server
from tinkwell.api.v1 import event_service_pb2, template_service_pb2, template_service_pb2_grpc

HEALTH_CHECK, HEALTH_WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
GET = "/tinkwell.api.v1.TemplateService/GetTemplate"
WATCH = "/tinkwell.api.v1.EventService/Watch"
DEADLINE_SECONDS = 30
# Whoever waited for one answer before the next question would ask once.
_ASK_SECONDS = 0.01
TOKEN = "secret-of-ci"


def ask_for_services(channel: grpc.aio.Channel, *metadata: tuple[str, str], name: str = "") -> Any:
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type] # the stubs know no aio
    request = reflection_pb2.ServerReflectionRequest(list_services=name)
    return stub.ServerReflectionInfo(iter([request]), metadata=metadata)


@pytest.mark.parametrize("chosen, bound", [({}, 1_000), ({"max_concurrent_streams": 5}, 5)])
async def test_a_connection_may_have_so_many_calls_open_at_once(
    database_url: str, chosen: dict[str, int], bound: int
) -> None:
    async with (
        servers.running(database_url, **chosen) as server,
        asyncio.timeout(DEADLINE_SECONDS),
        http2.connected(server.address) as connection,
    ):
        assert connection.settings[http2.MAX_CONCURRENT_STREAMS] == bound


async def test_who_opens_more_calls_than_that_is_refused_and_others_are_answered(database_url: str) -> None:
    async with (
        servers.running(database_url, max_concurrent_streams=5) as server,
        asyncio.timeout(DEADLINE_SECONDS),
        http2.connected(server.address) as connection,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        for stream in range(1, 21, 2):
            await connection.send(http2.headers(stream, HEALTH_WATCH), http2.message(stream, b""))
        refusal = await connection.until(http2.RST_STREAM)
        assert refusal.code == http2.REFUSED_STREAM
        stub: Any = health_pb2_grpc.HealthStub(channel)
        assert (await stub.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING


async def test_calls_that_are_reset_at_once_take_no_place_from_others(server_url: str, tmp_path: Path) -> None:
    begun_and_reset = b"".join(http2.headers(stream, GET) + http2.reset(stream) for stream in range(1, 30_000, 2))
    environment = {"TINKWELL_DATABASE_URL": server_url, "TINKWELL_THROWAWAY_DATABASE": "true"}
    arguments = ("server", "--host", "127.0.0.1", "--port", "0", "--http-port", "0")
    async with process.running(*arguments, log=tmp_path / "server.log", environment=environment) as server:
        address = (await server.line(r"^gRPC +(\S+)$"))[1]
        async with asyncio.timeout(2 * DEADLINE_SECONDS), grpc.aio.insecure_channel(address) as channel:
            # gRPC has calls of each method wait by themselves, so it is the same one that is asked for.
            stub = template_service_pb2_grpc.TemplateServiceStub(channel)
            request = template_service_pb2.GetTemplateRequest(id=str(uuid.uuid4()))
            calls = [stub.GetTemplate(request)]
            assert await calls[0].code() is grpc.StatusCode.NOT_FOUND
            poured = asyncio.gather(*(asyncio.to_thread(http2.pour, address, begun_and_reset) for _ in range(4)))
            while not poured.done():
                calls.append(stub.GetTemplate(request))
                await asyncio.sleep(_ASK_SECONDS)
            await poured
            assert {await call.code() for call in calls} == {grpc.StatusCode.NOT_FOUND}


@pytest.fixture
async def guarded(database_url: str, tmp_path: Path) -> AsyncIterator[Server]:
    """A server with a token, and with Tinkerbell's port."""
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    files = {"tink_cert": tmp_path / "cert.pem", "tink_key": tmp_path / "key.pem"}
    async with servers.running(database_url, tokens={"ci": TOKEN}, tink_port=0, **files) as server:
        yield server


async def test_reflection_needs_a_token_where_there_are_tokens(guarded: Server) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), grpc.aio.insecure_channel(guarded.address) as channel:
        told = await refused(ask_for_services(channel).read())
        assert told.code is grpc.StatusCode.UNAUTHENTICATED
        answer = await ask_for_services(channel, ("authorization", f"Bearer {TOKEN}")).read()
        names = {service.name for service in answer.list_services_response.service}
        assert names >= {"tinkwell.api.v1.EventService", "grpc.health.v1.Health"}


async def test_no_token_means_no_reflection_on_the_port_for_tinkerbell(guarded: Server) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), tink.connected(guarded) as tools:
        await tools.push()
        told = await refused(ask_for_services(tools.channel).read())
        assert told.code is grpc.StatusCode.UNIMPLEMENTED


async def test_reflection_repeats_no_more_than_a_name(server: Server) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), grpc.aio.insecure_channel(server.address) as channel:
        told = await refused(ask_for_services(channel, name="x" * 4_096).read())
        assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")


async def test_streams_of_reflection_are_bounded(server: Server) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), grpc.aio.insecure_channel(server.address) as channel:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type] # the stubs know no aio
        open_ones = [stub.ServerReflectionInfo() for _ in range(20)]
        for call in open_ones:
            await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
            assert (await call.read()).HasField("list_services_response")
        told = await refused(ask_for_services(channel).read())
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
        for call in open_ones:
            await call.done_writing()
            assert await call.read() is grpc.aio.EOF
        assert (await ask_for_services(channel).read()).HasField("list_services_response")


@pytest.mark.parametrize("method", [WATCH, HEALTH_WATCH])
async def test_a_watch_keeps_no_long_request(server: Server, method: str) -> None:
    # The field of one bit, again and again.
    padded = event_service_pb2.WatchRequest(now=True).SerializeToString() * 32_769
    async with asyncio.timeout(DEADLINE_SECONDS), grpc.aio.insecure_channel(server.address) as channel:
        watch: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(method)
        told = await refused(watch(padded).read())
        assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
        assert "one that asks for a stream may have 65,536" in told.message
