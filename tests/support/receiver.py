"""A receiver of webhooks, which checks their signatures."""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import standardwebhooks

SECRET = f"whsec_{base64.b64encode(b'a secret of at least 16 bytes').decode()}"


@dataclass(frozen=True)
class Request:
    """One POST, with its path, its headers in lower case, and its body."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def key(self) -> str:
        """The id by which a repeated one is recognised."""
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)

    def verify(self) -> None:
        """Check the signature; raises `standardwebhooks.WebhookVerificationError`."""
        standardwebhooks.Webhook(SECRET).verify(self.body, dict(self.headers))


class Receiver:
    """Answers each request with the next status it was told, or else with 204; while it holds, it does not answer."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.statuses: list[int] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.url = ""

    @property
    def keys(self) -> list[str]:
        """The ids of all requests."""
        return [request.key for request in self.requests]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Listen until the block ends."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
        try:
            async with server:
                yield self
        finally:
            self.may_answer.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):  # whoever asked may be killed
            while True:
                first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                body = await reader.readexactly(int(headers["content-length"]))
                self.requests.append(Request(first.split()[1], headers, body))
                await self.may_answer.wait()
                status = self.statuses.pop(0) if self.statuses else 204
                location = f"Location: {self.url}\r\n" if 300 <= status < 400 else ""
                writer.write(f"HTTP/1.1 {status} Said\r\n{location}Content-Length: 0\r\n\r\n".encode())
                await writer.drain()
        writer.close()
