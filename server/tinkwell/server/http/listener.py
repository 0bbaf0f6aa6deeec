"""Serves an ASGI application in the event loop of the server, which also decides when to stop."""

import asyncio
import resource
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from tinkwell.core import errors
from tinkwell.server.http import caller
from tinkwell.server.http.admission import Bounds
from tinkwell.server.http.connection import Connection, Timed
from tinkwell.server.http.gate import Gate

_GRACE_SECONDS = 2
# The interval that the base class expects; it updates the date of its answers by that.
_TICK_SECONDS = 0.1
# The number of connections that are accepted before their data is read: all of them wait, and may have to make room for
# each other. The others wait in the kernel.
_TAKEN_AT_ONCE = 16
_KERNEL_QUEUE = 1_024


class _Server(uvicorn.Server):
    """A server that reports when it listens, stops at once, and leaves the process's signals alone."""

    def __init__(self, config: uvicorn.Config, gate: Gate[Connection], tick_seconds: float) -> None:
        super().__init__(config)
        self._gate = gate
        self._tick_seconds = tick_seconds
        self.listens = asyncio.Event()
        self._is_told = asyncio.Event()

    def stop(self) -> None:
        """End `serve` after all connections are closed properly."""
        self.should_exit = True
        self._is_told.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_KERNEL_QUEUE)
        self.listens.set()

    async def main_loop(self) -> None:
        """Tick until told to stop. The base class would notice that only at the next tick."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(self._tick_seconds):
                    await self._is_told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the connections properly, which takes a while if there are any."""
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            # The connections of clients that do not read their answers are still open.
            self._gate.cut_all()
            return
        for server in self.servers:
            server.close()
        for listening in sockets or ():
            listening.close()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override] # it is typed as a generator
        return nullcontext()


class HttpListener:
    """Listens on a port, 0 for a free one.

    At most `bounds` connections are open, and fewer if the process may open few files. `proxies` are not limited by
    address.
    """

    def __init__(
        self,
        application: ASGIApp,
        *,
        host: str,
        port: int,
        bounds: Bounds | None = None,
        proxies: Sequence[caller.Network] = (),
        tick_seconds: float = _TICK_SECONDS,
    ) -> None:
        self._host = host
        self._port = port
        gate: Gate[Connection] = Gate((bounds or Bounds()).within(_files()), proxies)

        def connect(
            config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any], **_: object
        ) -> Connection:
            return Connection(gate, config, server_state, app_state)

        self._server = _Server(
            uvicorn.Config(
                Timed(application),
                # It is called like the class.
                http=cast(type[asyncio.Protocol], connect),
                backlog=_TAKEN_AT_ONCE,
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                # By default a caller on this machine could claim any address; see `http.caller`.
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            ),
            gate,
            tick_seconds,
        )

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[str]:
        """Serve until the block ends; yield the address as host:port.

        Raises `errors.Unavailable` for a port that is in use.
        """
        with self._bind() as listening:
            async with asyncio.TaskGroup() as tasks:
                serving = tasks.create_task(self._server.serve(sockets=[listening]), name="http")
                try:
                    await self._server.listens.wait()
                    yield self._address(listening)
                finally:
                    # Awaited here, because the group would cancel it before it has closed its connections properly.
                    self._server.stop()
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


def _files() -> int:
    """Return the number of files that this process may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if files == resource.RLIM_INFINITY else files
