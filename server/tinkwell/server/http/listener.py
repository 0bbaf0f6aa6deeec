"""Serves an ASGI application from the loop of the rest of the server, which also decides when to stop."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

import uvicorn
from starlette.types import ASGIApp

from tinkwell.core import errors

_GRACE_SECONDS = 2


class _Server(uvicorn.Server):
    """A server that tells when it listens, and leaves the process's signals to the process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override] # it is typed as a generator
        return nullcontext()


class HttpListener:
    """Listens on a port, 0 for a free one."""

    def __init__(self, application: ASGIApp, *, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._server = _Server(
            uvicorn.Config(
                application,
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                # By default whoever calls from this machine could say to be anybody; see `http.caller`.
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[str]:
        """Serve until the block ends; yields the address as host:port. Raises `errors.Unavailable` for a taken port."""
        with self._bind() as listening:
            async with asyncio.TaskGroup() as tasks:
                serving = tasks.create_task(self._server.serve(sockets=[listening]), name="http")
                try:
                    await self._server.listens.wait()
                    yield self._address(listening)
                finally:
                    # Awaited here, since the group would cancel it before it has said goodbye to its connections.
                    self._server.should_exit = True
                    await serving

    def _bind(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        try:
            return socket.create_server((self._host, self._port), family=family)
        except OSError as error:
            raise errors.Unavailable(f"cannot listen on {self._host}:{self._port}: {error.strerror}") from error

    def _address(self, listening: socket.socket) -> str:
        port = listening.getsockname()[1]
        return f"[{self._host}]:{port}" if ":" in self._host else f"{self._host}:{port}"
