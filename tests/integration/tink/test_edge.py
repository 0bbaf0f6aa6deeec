"""How Tinkerbell's tools reach the server: the certificate first, then TLS, and no token."""

import asyncio
import contextlib
import socket
import ssl
import urllib.error
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pydantic
import pytest
import trustme

import tinkwell.client
from support import server as support
from support.tink import FIRST_MAC, FIRST_WORKER, Tools, code, connected, fetch
from support.tink_worker import Worker
from tinkwell.api.tink import hardware_pb2
from tinkwell.client import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.server.app import main
from tinkwell.server.app.workers import supervisor
from tinkwell.server.settings import Settings

URL = "postgresql://db/tinkwell"


async def test_the_bundle_is_told_without_a_token_and_holds_no_key(
    database_url: str, certificate: dict[str, Path], tmp_path: Path
) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(certificate["tink_key"].read_bytes() + certificate["tink_cert"].read_bytes())
    settings = {"tink_cert": both, "tink_key": certificate["tink_key"], "tokens": {"alice": "secret"}}
    async with support.running(database_url, tink_port=0, **settings) as server:
        assert (await fetch(f"http://{server.http_address}/cert")).strip() == (
            certificate["tink_cert"].read_bytes().strip()
        )
        async with connected(server) as tools:
            await tools.push()
        # The server's own port still wants its token.
        async with tinkwell.client.connect(server.address) as client:
            with pytest.raises(errors.Unauthenticated):
                await client.hardware.by_id(FIRST_WORKER)


async def test_tls_keeps_the_rules_of_go(tools: Tools) -> None:
    bundle = await fetch(f"http://{tools.server.http_address}/cert")
    context = ssl.create_default_context(cadata=bundle.decode())
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["h2"])
    host, port = tools.server.tink_address.split(":")

    def shake() -> tuple[str | None, object]:
        with (
            socket.create_connection((host, int(port)), timeout=30) as plain,
            # Python, as Go, compares an address with the addresses among the alternative names alone.
            context.wrap_socket(plain, server_hostname=host) as secure,
        ):
            shown = secure.getpeercert()
            assert shown is not None
            return secure.selected_alpn_protocol(), shown["subjectAltName"]

    assert await asyncio.to_thread(shake) == ("h2", (("IP Address", "127.0.0.1"),))


async def test_a_renewed_certificate_is_told_and_a_broken_one_is_not(
    database_url: str, certificate: dict[str, Path], tmp_path: Path
) -> None:
    chosen = {name: tmp_path / path.name for name, path in certificate.items()}
    for name, path in chosen.items():
        path.write_bytes(certificate[name].read_bytes())
    async with support.running(database_url, tink_port=0, **chosen) as server:
        renewed = trustme.CA().issue_cert("127.0.0.1")
        renewed.cert_chain_pems[0].write_to_path(chosen["tink_cert"])
        renewed.private_key_pem.write_to_path(chosen["tink_key"])
        url = f"http://{server.http_address}/cert"
        assert (await fetch(url)).strip() == renewed.cert_chain_pems[0].bytes().strip()
        async with connected(server) as tools:
            await tools.push()
        chosen["tink_cert"].write_text("half of a cer")
        assert (await fetch(url)).strip() == renewed.cert_chain_pems[0].bytes().strip()


@pytest.mark.parametrize("workers", [1, 2])
async def test_who_has_the_bundle_may_connect_though_the_server_takes_long_to_begin(
    server_url: str, certificate: dict[str, Path], workers: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("127.0.0.1", 0)) as also_free:
        http_port, tink_port = free.getsockname()[1], also_free.getsockname()[1]
    ports = {"workers": workers, "port": 0, "http_port": http_port, "tink_port": tink_port}
    chosen = Settings.model_validate({"database_url": server_url, "throwaway_database": True, **ports, **certificate})
    serve: Any = main.serve if workers == 1 else supervisor.run
    serving = asyncio.create_task(serve(chosen, ready=lambda addresses: None))
    try:
        bundle = b""
        while not bundle:
            with contextlib.suppress(urllib.error.URLError):
                bundle = await fetch(f"http://127.0.0.1:{http_port}/cert")
        # As the tools do: at once, and once.
        with socket.create_connection(("127.0.0.1", tink_port), timeout=30):
            assert b"BEGIN CERTIFICATE" in bundle
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def test_neither_a_certificate_nor_a_token_is_asked_of_tools_though_others_need_both(
    database_url: str, tmp_path: Path
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    chain = tmp_path / "chain.pem"
    chain.write_bytes(issued.cert_chain_pems[0].bytes() + authority.cert_pem.bytes())
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    settings = {"server_cert": chain, "server_key": tmp_path / "key.pem", "client_ca": chain, "tokens": {"a": "secret"}}
    async with support.running(database_url, tink_port=0, **settings) as server:
        bundle = await fetch(f"http://{server.http_address}/cert")
        assert bundle.count(b"BEGIN CERTIFICATE") == 2
        options = [("grpc.primary_user_agent", "grpc-go/1.39.0")]
        secure = grpc.ssl_channel_credentials(bundle)
        async with grpc.aio.secure_channel(server.tink_address, secure, options=options) as channel:
            tools = Tools(channel, server)
            request = hardware_pb2.PushRequest(data=hardware_pb2.Hardware(id=FIRST_WORKER))
            traced = (("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),)
            await tools.hardware.Push(request, metadata=traced, timeout=30)
        async with grpc.aio.secure_channel(server.address, secure) as channel:
            assert await code(Tools(channel, server).hardware.All(hardware_pb2.Empty(), timeout=30).read()) is (
                grpc.StatusCode.UNAVAILABLE
            )


async def test_without_its_setting_there_is_neither_port_nor_bundle(server: support.Server) -> None:
    assert server.tink_address == ""
    with pytest.raises(urllib.error.HTTPError, match="404"):
        await fetch(f"http://{server.http_address}/cert")


def test_without_a_certificate_the_port_is_refused() -> None:
    with pytest.raises(pydantic.ValidationError, match="tink_port needs tink_cert"):
        Settings.model_validate({"database_url": URL, "tink_port": 0})


def test_the_certificate_of_the_server_serves_where_there_is_no_other(certificate: dict[str, Path]) -> None:
    files = {"server_cert": certificate["tink_cert"], "server_key": certificate["tink_key"]}
    assert Settings.model_validate({"database_url": URL, "tink_port": 0, **files}).tink_bundle == files["server_cert"]
    assert Settings.model_validate({"database_url": URL, **files}).tink_bundle is None


async def test_whoever_calls_is_tinkerbell_to_others(tools: Tools) -> None:
    request = hardware_pb2.PushRequest(data=hardware_pb2.Hardware(id=FIRST_WORKER))
    await tools.hardware.Push(request, metadata=(("x-tinkwell-actor", "alice"),), timeout=30)
    async with tinkwell.client.connect(tools.server.address) as client, asyncio.timeout(60):
        async for event in client.events.watch(resource_types=[ResourceType.HARDWARE]):
            assert event.actor == "tinkerbell"
            break


async def test_an_unknown_service_is_unimplemented(tools: Tools) -> None:
    method: Any = tools.channel.unary_unary(
        "/github.com.tinkerbell.tink.protos.packet.Packet/Get", request_serializer=bytes
    )
    assert await code(method(b"")) is grpc.StatusCode.UNIMPLEMENTED


async def test_what_cannot_be_decoded_is_refused(tools: Tools) -> None:
    path = f"/{hardware_pb2.DESCRIPTOR.services_by_name['HardwareService'].full_name}/Push"
    assert path == "/github.com.tinkerbell.tink.protos.hardware.HardwareService/Push"
    assert await code(tools.channel.unary_unary(path, request_serializer=bytes)(b"\xff")) is (
        grpc.StatusCode.INVALID_ARGUMENT
    )


async def test_several_processes_share_the_port_and_tell_one_bundle(
    server_url: str, certificate: dict[str, Path]
) -> None:
    ports = {"workers": 2, "port": 0, "http_port": 0, "tink_port": 0}
    chosen = Settings.model_validate({"database_url": server_url, "throwaway_database": True, **ports, **certificate})
    ready: asyncio.Future[main.Addresses] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(supervisor.run(chosen, ready=ready.set_result))
    try:
        async with asyncio.timeout(60):
            waited: list[asyncio.Future[Any]] = [ready, serving]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            where = ready.result()
        server = support.Server(where.grpc, where.http, server_url, where.tink)
        async with contextlib.AsyncExitStack() as stack:
            # The kernel gives each connection to one of the processes.
            several = [await stack.enter_async_context(connected(server)) for _ in range(4)]
            await several[0].push()
            streams = [Worker(tools).contexts() for tools in several]
            coming = [asyncio.ensure_future(anext(stream)) for stream in streams]
            workflow_id = await several[0].create_workflow(FIRST_MAC)
            assert {context.workflow_id for context in await asyncio.gather(*coming)} == {workflow_id}
            for stream in streams:
                await stream.aclose()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
