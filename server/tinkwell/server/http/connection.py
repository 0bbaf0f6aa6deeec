"""One connection to the HTTP port, which ends at a deadline at the latest.

uvicorn parses requests and writes answers. It closes a connection that is silent after an answer, but not one that is
silent at first, sends without end, or does not read its answer. So this class stands between uvicorn and the transport:

    opened ──▶ waits for a request ──▶ busy: its body comes, it is answered, the answer goes ──▶ waits again …
                 HEAD_SECONDS             REQUEST_SECONDS

Each time counts from the beginning of the state, whatever is sent in the meantime. After it the connection is closed.
"""

import asyncio
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from tinkwell.server.http import overtaken
from tinkwell.server.http.gate import Gate

HEAD_SECONDS = 10.0
# More than any answer takes, because these have deadlines of their own.
REQUEST_SECONDS = 30.0

# The key under which a request names its connection.
_KEY = "tinkwell.connection"
_REFUSAL_TEXT = b"too many connections are open; try again\n"
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: %d\r\nRetry-After: 1\r\nConnection: close\r\n\r\n%s" % (len(_REFUSAL_TEXT), _REFUSAL_TEXT)
)


class Connection(asyncio.Protocol):
    """Passes on the calls of a transport, and keeps the deadlines."""

    def __init__(
        self, gate: Gate["Connection"], config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._gate = gate
        self._http = overtaken.Protocol(config, server_state, {**app_state, _KEY: self}, self._loop)
        self._transport: asyncio.Transport | None = None
        self._is_refused = False
        # Several requests may have come at once. They are answered one after the other.
        self._requests = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, or refuse the connection if there is no room."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._gate.enter(self, transport.get_extra_info("peername")[0]):
            self._http.connection_made(transport)
            self._await(HEAD_SECONDS)
        else:
            self._is_refused = True
            transport.write(_REFUSAL)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Pass received data on."""
        if not self._is_refused:
            self._http.data_received(data)

    def eof_received(self) -> None:
        """Pass on that no more data will come. The transport closes itself."""
        if not self._is_refused:
            self._http.eof_received()

    def pause_writing(self) -> None:
        """Pass on that the other end reads more slowly than the server writes."""
        if not self._is_refused:
            self._http.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the other end reads again."""
        if not self._is_refused:
            self._http.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""
        self._await(None)
        self._gate.leave(self)
        if not self._is_refused:
            self._http.connection_lost(exc)

    def begin(self) -> None:
        """Record that a request has come, except for its body."""
        self._requests += 1
        if self._requests == 1 and self._is_open:
            self._gate.work(self)
            self._await(REQUEST_SECONDS)

    def end(self) -> None:
        """Record that a request is answered, as far as the transport has accepted the answer."""
        self._requests -= 1
        if self._requests == 0 and self._is_open:
            self._gate.wait(self)
            self._await(HEAD_SECONDS)

    def cut(self) -> None:
        """Close the connection at once. Answers that the other end has not read are lost."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def _is_open(self) -> bool:
        # While there is a deadline, it also closes a connection that would wait for ever to be closed.
        return self._deadline is not None

    def _await(self, seconds: float | None) -> None:
        """Replace the deadline. None removes it."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self._loop.call_later(seconds, self.cut)


class Timed:
    """Tells connections when their requests begin and end. Raises the application's errors."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the application answer."""
        connection: Connection = scope["state"].pop(_KEY)
        connection.begin()
        try:
            await self._application(scope, receive, send)
        finally:
            connection.end()
