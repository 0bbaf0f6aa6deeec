"""The messages between supervisor and worker: one JSON object per line, over a pair of connected sockets.

    supervisor                                      worker
        │ {"worker": 0, "settings": {…}}              │
        │────────────────────────────────────────────▶│ starts
        │                          {"ready": ADDRESS} │ or {"failed": SENTENCE}, and ends
        │◀────────────────────────────────────────────│
        │ {"id": 7, "ask": "metrics"}                 │
        │────────────────────────────────────────────▶│
        │                      {"id": 7, "answer": …} │
        │◀────────────────────────────────────────────│

No other process can reach the sockets, they leave nothing on a disk, and each end sees when the other has gone.
"""

import asyncio
import json
import socket
from typing import Any, Self

# More than any exposition has; a longer line ends the channel.
_MAX_BYTES = 16 << 20
_SEND_SECONDS = 10


class Channel:
    """One end of the channel."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket, *, max_bytes: int = _MAX_BYTES) -> Self:
        """Take over a connected socket."""
        return cls(*await asyncio.open_unix_connection(sock=end, limit=max_bytes))

    def post(self, message: dict[str, Any]) -> None:
        """Send a message without waiting. This is only for the few unsolicited messages."""
        self._writer.write(json.dumps(message).encode() + b"\n")

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message, and wait until there is room for more.

        Raises `TimeoutError` if the other end does not read.
        """
        self.post(message)
        async with asyncio.timeout(_SEND_SECONDS):
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Wait for the next message. Return None if the other end has gone, or has sent a line that is too long."""
        try:
            line = await self._reader.readline()
        except (ConnectionError, ValueError):
            return None
        # A line without its end was cut off by the death of its writer.
        return dict(json.loads(line)) if line.endswith(b"\n") else None

    async def close(self) -> None:
        """Close this end after posted messages were sent."""
        self._writer.close()
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await self._writer.wait_closed()
        except (ConnectionError, TimeoutError):
            return
