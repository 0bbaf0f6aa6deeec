"""A way to PostgreSQL that can swallow what single sessions say and are told, while the others go on."""

import asyncio
import contextlib
import urllib.parse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# What a client says first names its application.
_GREETING_BYTES = 1_024


class _Session:
    """What its client said first, and whether the rest is swallowed."""

    def __init__(self) -> None:
        self.greeting = bytearray()
        self.is_swallowed = False


class SessionHole:
    """Forwards bytes both ways, until it is told to forward nothing more of the sessions of an application."""

    def __init__(self, database_url: str) -> None:
        parts = urllib.parse.urlsplit(database_url)
        self._parts = parts
        self._query = dict(urllib.parse.parse_qsl(parts.query))
        self._sessions: list[_Session] = []
        self._is_open = asyncio.Event()
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""

    def swallow(self, application: str) -> None:
        """Swallow all that the present sessions of this name say and are told from now on; later ones go through."""
        for session in self._sessions:
            session.is_swallowed = session.is_swallowed or application.encode() + b"\0" in session.greeting

    @asynccontextmanager
    async def running(self) -> AsyncIterator["SessionHole"]:
        """Listen until the block ends; `url` is the database's by this way."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        user = self._parts.netloc.rpartition("@")[0]
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        query = urllib.parse.urlencode({k: v for k, v in self._query.items() if k not in ("host", "port")})
        self.url = self._parts._replace(netloc=f"{user}@{place}", query=query).geturl()
        try:
            yield self
        finally:
            self._is_open.set()
            server.close()
            for writer in self._writers:
                writer.close()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            there, back = await self._connect()
        except OSError:
            writer.close()  # as if it had refused
            return
        self._writers += [writer, back]
        session = _Session()
        self._sessions.append(session)
        with contextlib.suppress(OSError):
            await asyncio.gather(
                self._forward(reader, back, session, hears=True), self._forward(there, writer, session)
            )

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host = self._query.get("host", self._parts.hostname or "localhost")
        port = int(self._query.get("port", self._parts.port or 5432))
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: _Session, *, hears: bool = False
    ) -> None:
        while content := await reader.read(65_536):
            if hears and len(session.greeting) < _GREETING_BYTES:
                session.greeting += content
            if session.is_swallowed:
                await self._is_open.wait()
                return
            writer.write(content)
            await writer.drain()
        writer.close()
