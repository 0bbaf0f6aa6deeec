"""What is refused once is not refused again, and what is refused twice closes the connection."""

import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from tinkwell.server.http import overtaken


class Transport(asyncio.Transport):
    """Notes what is written, and passes on what comes though it is to be closed, as a busy loop may."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = 0

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed += 1

    def is_closing(self) -> bool:
        return self.closed > 0


async def never(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.Event().wait()


async def test_a_connection_that_goes_on_after_its_refusal_is_closed() -> None:
    state, transport = ServerState(), Transport()
    protocol = overtaken.Protocol(uvicorn.Config(never, log_config=None), state, {})
    protocol.connection_made(transport)
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n")
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    said = transport.written
    protocol.data_received(b"no HTTP either\r\n")
    assert transport.written == said
    assert transport.closed == 2
    protocol.connection_lost(None)
    for task in state.tasks:
        task.cancel()
    await asyncio.gather(*state.tasks, return_exceptions=True)
