"""The other side of `bench.process.generator`: what a load generator's process runs."""

import asyncio
import gc
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any


class Link:
    """Messages from the run, one JSON object a line, and the replies to them."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def receive(self) -> dict[str, Any] | None:
        """Wait for the next message; None when the run has ended."""
        line = await self._reader.readline()
        return json.loads(line) if line else None

    def reply(self, **message: object) -> None:
        """Answer a message."""
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def run(work: Callable[[Link], Awaitable[None]]) -> None:
    """Run the work, which ends when there are no more messages."""
    asyncio.run(_run(work))


async def _run(work: Callable[[Link], Awaitable[None]]) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    # What was imported stays; the collector need not look at it while something is measured.
    gc.freeze()
    await work(Link(reader))
