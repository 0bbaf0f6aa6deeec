"""Holds writers off for as long as it must be known what is committed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Gate:
    """Writers pass it for each transaction; while it is closed, nobody is inside."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._is_closed = False
        self._inside = 0

    @contextlib.asynccontextmanager
    async def passed(self) -> AsyncIterator[None]:
        """Wait until it is open, and count as inside until the block ends."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._is_closed)
            self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            async with self._changed:
                self._changed.notify_all()

    @contextlib.asynccontextmanager
    async def closed(self) -> AsyncIterator[None]:
        """Close it, wait until nobody is inside, and open it when the block ends. One at a time may."""
        async with self._changed:
            assert not self._is_closed, "somebody else has closed it"
            self._is_closed = True
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: self._inside == 0)
            yield
        finally:
            async with self._changed:
                self._is_closed = False
                self._changed.notify_all()
