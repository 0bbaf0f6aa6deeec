"""Connections that many watches share are found among the open files, and what is written to them is kept back."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from tinkwell.server.rpc.watch import connection
from tinkwell.server.rpc.watch.connection import Connection, Connections

MANY = 8


@contextlib.contextmanager
def connected(
    family: socket.AddressFamily = socket.AF_INET, host: str = "127.0.0.1"
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield the server's and the client's end."""
    with socket.socket(family) as listening:
        listening.bind((host, 0))
        listening.listen()
        with socket.create_connection(listening.getsockname()[:2], timeout=10) as client:
            accepted, _ = listening.accept()
            with accepted:
                yield accepted, client


@contextlib.contextmanager
def watched(connections: Connections, peer: str, times: int) -> Iterator[Connection]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(connections.shared(peer)) for _ in range(times)][-1]


def name(client: socket.socket) -> str:
    """How gRPC names the peer."""
    host, port, *_ = client.getsockname()
    return f"ipv4:{host}:{port}"


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def is_corked(end: socket.socket) -> bool:
    return bool(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CORK))


@pytest.mark.parametrize(
    ("family", "host", "peer"),
    [
        (socket.AF_INET, "127.0.0.1", "ipv4:127.0.0.1:{}"),
        (socket.AF_INET6, "::1", "ipv6:%5B::1%5D:{}"),
        (socket.AF_INET6, "::1", "ipv6:[::1]:{}"),
    ],
)
async def test_many_watches_hold_back_what_is_written_in_a_turn_of_the_loop_to_their_connection_and_to_no_other(
    family: socket.AddressFamily, host: str, peer: str
) -> None:
    with connected(family, host) as (ours, client), connected(family, host) as (other, _):
        with watched(Connections(), peer.format(client.getsockname()[1]), MANY) as found:
            client.setblocking(False)
            for first, rest in ((b"one", b", two"), (b"three", b", four")):
                for part in (first, rest):
                    found.hold()
                    assert (is_corked(ours), is_corked(client), is_corked(other)) == (True, False, False)
                    ours.send(part)
                with pytest.raises(BlockingIOError):
                    client.recv(100)
                await asyncio.sleep(0)
                assert not is_corked(ours)
                async with asyncio.timeout(10):
                    assert await asyncio.get_running_loop().sock_recv(client, 100) == first + rest
        assert not is_corked(ours)


def test_an_address_of_the_old_protocol_is_found_on_a_socket_of_the_new_one() -> None:
    with socket.socket(socket.AF_INET6) as listening:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(("::", 0))
        listening.listen()
        with socket.create_connection(("127.0.0.1", listening.getsockname()[1])) as client:
            accepted, _ = listening.accept()
            with accepted, watched(Connections(), name(client), MANY) as found:
                assert found.is_found


def test_few_watches_are_not_worth_a_look() -> None:
    with connected() as (ours, client), watched(Connections(), name(client), MANY - 1) as found:
        found.hold()
        assert not found.is_found
        assert not is_corked(ours)


@pytest.mark.parametrize(
    "peer", ["unix:", "unix:/run/tinkwell.sock", "ipv4:127.0.0.1:1", "ipv4:nowhere", "", "ipv4:x:1"]
)
def test_what_cannot_be_found_works_as_without(peer: str) -> None:
    with watched(Connections(), peer, MANY) as lost:
        lost.hold()
        assert not lost.is_found


def test_among_very_many_files_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_MAX_FILES", 1)
    with connected() as (_, client), watched(Connections(), name(client), MANY) as lost:
        assert not lost.is_found


def test_a_system_without_the_means_works_as_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with connected() as (_, client):
        with monkeypatch.context() as patched:
            patched.setattr(connection, "_OPEN_FILES", tmp_path / "none")
            with watched(Connections(), name(client), MANY) as lost:
                assert not lost.is_found
        monkeypatch.setattr(connection, "_CORK", None)
        with watched(Connections(), name(client), MANY) as lost:
            lost.hold()
            assert not lost.is_found


async def test_the_last_watch_leaves_nothing_kept_back_for_the_calls_that_go_on() -> None:
    with connected() as (ours, client):
        with watched(Connections(), name(client), MANY) as found:
            found.hold()
            ours.send(b"rest")
        assert not is_corked(ours)
        assert client.recv(100) == b"rest"
        # Nor does what was to come at the end of the turn touch what others do with the socket meanwhile.
        ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        await asyncio.sleep(0)
        assert is_corked(ours)


def test_a_connection_is_looked_for_once_however_often_watches_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    monkeypatch.setattr(connection, "_find", looks.append)
    connections = Connections()
    with connected() as (_, client), watched(connections, name(client), MANY - 1):
        for _ in range(3):
            with connections.shared(name(client)) as last:
                last.hold()
    assert len(looks) == 1


async def test_a_connection_that_ends_is_let_go_and_its_files_with_the_last_watch() -> None:
    before = open_files()
    with connected() as (ours, client), watched(Connections(), name(client), MANY) as found:
        # As gRPC ends one: the other side learns of it although a copy is open here.
        ours.shutdown(socket.SHUT_RDWR)
        ours.close()
        assert client.recv(1) == b""
        client.close()
        found.hold()
        await asyncio.sleep(0)
    assert open_files() == before


async def test_the_connections_of_grpc_are_found_by_the_names_that_it_gives_them() -> None:
    connections, found = Connections(), []

    async def serve(request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
        with watched(connections, context.peer(), MANY) as seen:
            found.append(seen.is_found)
        return b""

    server = grpc.aio.server()
    handler: Any = grpc.unary_unary_rpc_method_handler(serve)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test.Test", {"Call": handler})])
    ports = [server.add_insecure_port(host) for host in ("127.0.0.1:0", "[::1]:0")]
    await server.start()
    try:
        for host, port in zip(("127.0.0.1", "[::1]"), ports, strict=True):
            async with grpc.aio.insecure_channel(f"{host}:{port}") as channel:
                call: Any = channel.unary_unary("/test.Test/Call")
                await call(b"", timeout=30)
    finally:
        await server.stop(None)
    assert found == [True, True]
