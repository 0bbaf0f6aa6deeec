"""The servers' event loop wakes once for all that gRPC has finished."""

import asyncio
import functools
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import grpc.aio
import pytest

from support.waiting import eventually
from tinkwell.server.app import loop as loop_module
from tinkwell.server.app.loop import Loop

_METHOD = "/test.Test/Stream"
_STREAMS = 50


class Poller:
    """As gRPC's: handles all that has ended whenever it is called, and reads one byte."""

    def __init__(self, wake_ups: socket.socket) -> None:
        self.calls = 0
        self._wake_ups = wake_ups

    def _handle_events(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._wake_ups.recv(1)
        self.calls += 1

    def another(self, loop: asyncio.AbstractEventLoop) -> None:
        self._handle_events(loop)


@pytest.mark.parametrize(("choose", "calls"), [(lambda p: p._handle_events, 1), (lambda p: p.another, 100)])
def test_wake_ups_of_grpc_are_taken_together_and_those_of_others_are_let_be(
    choose: Callable[[Poller], Callable[..., None]], calls: int
) -> None:
    async def work() -> int:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            poller = Poller(ours)
            loop.add_reader(ours, functools.partial(choose(poller), loop))
            theirs.send(b"1" * 100)
            await eventually(lambda: not _is_readable(ours))
            loop.remove_reader(ours)
        return poller.calls

    with asyncio.Runner(loop_factory=Loop) as runner:
        assert runner.run(work()) == calls


def _is_readable(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


def test_grpc_is_recognized_and_every_message_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    handle = loop_module._handle_once

    def counting(*args: Any) -> None:
        calls.append(args)
        handle(*args)

    monkeypatch.setattr(loop_module, "_handle_once", counting)
    with asyncio.Runner(loop_factory=Loop) as runner:
        received = runner.run(_stream())
    assert received == _STREAMS * [[b"0", b"1", b"2"]]
    assert calls, "gRPC calls its handler by another name, so each message would wake the loop"


async def _stream() -> list[list[bytes]]:
    async def serve(request: bytes, context: object) -> AsyncIterator[bytes]:
        for number in range(3):
            yield b"%d" % number

    server = grpc.aio.server()
    handler: Any = grpc.unary_stream_rpc_method_handler(serve)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test.Test", {"Stream": handler})])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel, asyncio.timeout(30):
            return list(await asyncio.gather(*(_read(channel) for _ in range(_STREAMS))))
    finally:
        await server.stop(None)


async def _read(channel: grpc.aio.Channel) -> list[bytes]:
    call: Any = channel.unary_stream(_METHOD)
    return [message async for message in call(b"")]
