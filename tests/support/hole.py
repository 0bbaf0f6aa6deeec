"""A way to a server that can swallow everything, as a network does whose cable was pulled: no end of the connection."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Hole:
    """Forwards bytes both ways until it is opened; then it keeps the connections and forwards nothing."""

    def __init__(self, target: str) -> None:
        self._host, self._port = target.rsplit(":", 1)
        self._passes = asyncio.Event()
        self._passes.set()
        self._writers: list[asyncio.StreamWriter] = []
        self.address = ""

    def open(self) -> None:
        """Swallow everything from now on."""
        self._passes.clear()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Hole"]:
        """Listen until the block ends."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            self._passes.set()
            server.close()
            for writer in self._writers:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(self._host, int(self._port))
        except OSError:
            writer.close()  # as if it had refused
            return
        self._writers += [writer, back]
        with contextlib.suppress(OSError):
            await asyncio.gather(self._forward(reader, back), self._forward(there, writer))
        writer.close()
        back.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while content := await reader.read(65_536):
            await self._passes.wait()
            writer.write(content)
            await writer.drain()
        writer.close()
