"""The doorbell's two connections: one listens, the other holds the lock that keeps writers ringing.

They cannot be one: notifications reach a connection only between its transactions, and the lock lives inside one.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg

from tinkwell.core.log import SourceLost
from tinkwell.server.store import engine

_CHANNEL = "tinkwell_bell"
_TIMEOUT_SECONDS = 10
_CLOSE_SECONDS = 1


class PostgresBell:
    """Implements `tinkwell.server.watch.source.Bell`."""

    def __init__(self, listener: asyncpg.Connection, holder: asyncpg.Connection, *, heard: Callable[[], None]) -> None:
        # Called for each notification.
        self._heard = heard
        self._listener = listener
        self._holder = holder
        self._rung = asyncio.Event()
        self._is_lost = False
        self._is_held = False

    async def start(self) -> None:
        """Listen; must have returned before the bell is used."""
        for connection in (self._listener, self._holder):
            connection.add_termination_listener(self._lose)
        await self._listener.add_listener(_CHANNEL, self._ring)

    @property
    def is_rung(self) -> bool:
        return self._rung.is_set()

    def clear(self) -> None:
        # A lost connection stays a reason not to sleep.
        if not self._is_lost:
            self._rung.clear()

    async def hush(self) -> bool:
        async with self._using_holder(_TIMEOUT_SECONDS):
            await self._holder.execute("BEGIN")
            self._is_held = bool(await self._holder.fetchval("SELECT may_sleep()"))
            if not self._is_held:
                await self._holder.execute("ROLLBACK")
            return self._is_held

    async def wait(self, timeout_seconds: float) -> bool:
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._rung.wait()
        except TimeoutError:
            return False

    async def release(self, *, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self.clear()
        async with self._using_holder(timeout_seconds):
            # One round trip; what follows the rollback is a transaction of its own.
            await self._holder.execute("ROLLBACK; SELECT silence_bell()" if self._is_held else "SELECT silence_bell()")
            self._is_held = False

    async def close(self) -> None:
        """Give the bell back if it is held: when a process stops in its sleep, nobody else may be there to do it."""
        if self._is_held:
            with contextlib.suppress(SourceLost):
                await self.release(timeout_seconds=_CLOSE_SECONDS)

    @asynccontextmanager
    async def _using_holder(self, timeout_seconds: float) -> AsyncIterator[None]:
        if self._is_lost:
            raise SourceLost("the doorbell's connection was lost")
        try:
            async with asyncio.timeout(timeout_seconds):
                yield
        except (asyncpg.PostgresError, *engine.CONNECTION_ERRORS) as error:
            raise SourceLost("the doorbell's connection was lost") from error

    def _ring(self, *_: object) -> None:
        self._heard()
        self._rung.set()

    def _lose(self, *_: object) -> None:
        self._is_lost = True
        self._rung.set()
