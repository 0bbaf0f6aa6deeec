"""TLS of the server: renewed certificates and certificates that clients must show, over real connections."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest
import trustme

from tinkwell.server.app import credentials
from tinkwell.server.settings import Settings

URL = "postgresql://db/tinkwell"


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[int]:
    server = grpc.aio.server()
    secure = credentials.server_credentials(settings)
    assert secure is not None
    port = server.add_secure_port("127.0.0.1:0", secure)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


def write(directory: Path, issued: trustme.LeafCert) -> Settings:
    issued.cert_chain_pems[0].write_to_path(directory / "cert.pem")
    issued.private_key_pem.write_to_path(directory / "key.pem")
    return settings(directory)


def settings(directory: Path, **more: Path) -> Settings:
    return Settings.model_validate(
        {"database_url": URL, "server_cert": directory / "cert.pem", "server_key": directory / "key.pem", **more}
    )


def serial_number(port: int, context: ssl.SSLContext) -> str:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        shown = secure.getpeercert()
        assert shown is not None
        return str(shown["serialNumber"])


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    authority.configure_trust(context)
    return context


def test_without_a_certificate_there_is_no_tls() -> None:
    assert credentials.server_credentials(Settings.model_validate({"database_url": URL})) is None


async def test_a_renewed_certificate_is_shown_without_a_restart(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = trusting(authority)
    async with serving(write(tmp_path, authority.issue_cert("localhost"))) as port:
        first = await asyncio.to_thread(serial_number, port, context)
        assert await asyncio.to_thread(serial_number, port, context) == first
        write(tmp_path, authority.issue_cert("localhost"))
        assert await asyncio.to_thread(serial_number, port, context) != first


async def test_a_broken_renewal_leaves_the_old_certificate_in_use(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = trusting(authority)
    async with serving(write(tmp_path, authority.issue_cert("localhost"))) as port:
        first = await asyncio.to_thread(serial_number, port, context)
        (tmp_path / "cert.pem").unlink()
        assert await asyncio.to_thread(serial_number, port, context) == first


async def test_a_client_without_a_certificate_is_turned_away_where_one_is_asked_for(tmp_path: Path) -> None:
    authority = trustme.CA()
    write(tmp_path, authority.issue_cert("localhost"))
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    theirs = authority.issue_cert("client")
    async with serving(settings(tmp_path, client_ca=tmp_path / "ca.pem")) as port:
        known = grpc.ssl_channel_credentials(
            authority.cert_pem.bytes(), theirs.private_key_pem.bytes(), theirs.cert_chain_pems[0].bytes()
        )
        assert await code(port, known) is grpc.StatusCode.UNIMPLEMENTED
        assert await code(port, grpc.ssl_channel_credentials(authority.cert_pem.bytes())) is (
            grpc.StatusCode.UNAVAILABLE
        )


async def code(port: int, secure: grpc.ChannelCredentials) -> grpc.StatusCode:
    """Call a method that does not exist, and tell how that failed."""
    async with grpc.aio.secure_channel(f"localhost:{port}", secure) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/none/None", request_serializer=bytes)(b"", timeout=10)
    return caught.value.code()
