"""Serves an ASGI application from the loop of the rest of the server, which also decides when to stop."""

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
# As often as the class below expects; it keeps the date of its answers by that.
_TICK_SECONDS = 0.1
# So many connections are taken at a time, before what they send is looked at: all of them wait, and may have to make
# room for each other. The others wait in the kernel.
_TAKEN_AT_ONCE = 16
_KERNEL_QUEUE = 1_024


class _Server(uvicorn.Server):
    """A server that tells when it listens, stops at once, and leaves the process's signals to the process."""

    def __init__(self, config: uvicorn.Config, gate: Gate[Connection]) -> None:
        super().__init__(config)
        self._gate = gate
        self.listens = asyncio.Event()
        self._is_told = asyncio.Event()

    def stop(self) -> None:
        """End `serve`, once goodbye is said to all connections."""
        self.should_exit = True
        self._is_told.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_KERNEL_QUEUE)
        self.listens.set()

    async def main_loop(self) -> None:
        """Tick until told to stop; the class above would see that at the next tick only."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._is_told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say goodbye to connections, which takes a while, if there are any."""
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            # Those who do not take what they have asked for are still there.
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

    At most `bounds` connections are open, and fewer where the process may open few files. `proxies` are not bound by
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
                # It is called as the class would be.
                http=cast(type[asyncio.Protocol], connect),
                backlog=_TAKEN_AT_ONCE,
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                # By default whoever calls from this machine could say to be anybody; see `http.caller`.
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            ),
            gate,
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
    """Return how many files this process may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if files == resource.RLIM_INFINITY else files
