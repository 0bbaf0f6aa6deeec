"""Ways to Unix sockets through TCP ports, as a process of its own, that may be shut or swallow everything.

It takes one command a line, and answers each with a line:

    add NAME PATH      listen for connections to the socket; answers with the port
    shut NAME          listen no more, and cut the connections that there are
    open NAME          listen again, at the same port
    swallow NAME all   keep all connections, also those to come, and forward nothing
    swallow NAME one   the same for one connection of those there are; answers `none` when there is none
    pass NAME          forward what was swallowed, and everything from then on
    cut NAME           cut what was swallowed instead, as when either end has given up
"""

import asyncio
import contextlib
import random
import sys

_PIECE_BYTES = 65_536


class Way:
    """One connection through a door."""

    def __init__(self, *writers: asyncio.StreamWriter) -> None:
        self.passes = asyncio.Event()
        self.passes.set()
        self._writers = writers

    def cut(self) -> None:
        """End it on both sides."""
        for writer in self._writers:
            writer.transport.abort()
        self.passes.set()

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one direction until its end."""
        with contextlib.suppress(OSError):
            while content := await reader.read(_PIECE_BYTES):
                await self.passes.wait()
                writer.write(content)
                await writer.drain()
        # The end of a connection is swallowed like all else.
        await self.passes.wait()
        writer.close()


class Door:
    """A port and the socket that it leads to."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._ways: set[Way] = set()
        self._server: asyncio.Server | None = None
        self._port = 0
        self._swallows = False

    async def open(self) -> int:
        """Listen, always at the same port, and return that."""
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
            self._port = int(self._server.sockets[0].getsockname()[1])
        return self._port

    async def obey(self, command: str, what: str) -> str:
        """Do as one is told, and return the answer."""
        match command, what:
            case "shut", _:
                if self._server is not None:
                    self._server.close()
                self._server = None
                self._end(self._ways)
            case "open", _:
                await self.open()
            case "swallow", "all":
                self._swallows = True
                self._swallow(self._ways)
            case "swallow", "one":
                if not self._ways:
                    return "none"
                self._swallow({random.choice(list(self._ways))})
            case "pass", _:
                self._swallows = False
                for way in self._ways:
                    way.passes.set()
            case "cut", _:
                self._swallows = False
                self._end({way for way in self._ways if not way.passes.is_set()})
            case _:
                return f"unknown: {command} {what}"
        return "done"

    @staticmethod
    def _swallow(ways: set[Way]) -> None:
        for way in ways:
            way.passes.clear()

    @staticmethod
    def _end(ways: set[Way]) -> None:
        for way in list(ways):
            way.cut()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_unix_connection(self._path)
        except OSError:
            writer.transport.abort()
            return
        way = Way(writer, back)
        if self._swallows:
            way.passes.clear()
        self._ways.add(way)
        try:
            await asyncio.gather(way.forward(reader, back), way.forward(there, writer))
        finally:
            self._ways.discard(way)


async def _main() -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    doors: dict[str, Door] = {}
    # The end of the input is the end of whoever commands.
    while line := (await reader.readline()).decode():
        command, name, what = (*line.split(), "")[:3]
        if command == "add":
            doors[name] = Door(what)
            print(await doors[name].open(), flush=True)
        else:
            print(await doors[name].obey(command, what), flush=True)


if __name__ == "__main__":
    asyncio.run(_main())
