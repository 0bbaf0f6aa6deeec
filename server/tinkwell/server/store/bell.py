"""The doorbell's two connections: one listens, the other holds the lock that makes writers ring.

They cannot be one: notifications reach a connection only between its transactions, and the lock lives inside one.
"""

import asyncio
from collections.abc import Callable

import asyncpg

from tinkwell.core.log import SourceLost
from tinkwell.server.store import engine

_CHANNEL = "tinkwell_bell"
_TIMEOUT_SECONDS = 10


class PostgresBell:
    """Implements `tinkwell.server.watch.source.Bell`."""

    def __init__(self, listener: asyncpg.Connection, holder: asyncpg.Connection, *, heard: Callable[[], None]) -> None:
        # Called for each notification.
        self._heard = heard
        self._listener = listener
        self._holder = holder
        self._rung = asyncio.Event()
        self._is_lost = False

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
        if self._is_lost:
            raise SourceLost("the doorbell's connection was lost")
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._holder.execute("BEGIN")
                is_granted = bool(await self._holder.fetchval("SELECT may_sleep()"))
                if not is_granted:
                    await self._holder.execute("ROLLBACK")
                return is_granted
        except (asyncpg.PostgresError, *engine.CONNECTION_ERRORS) as error:
            raise SourceLost("the doorbell's connection was lost") from error

    async def wait(self, timeout_seconds: float) -> bool:
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._rung.wait()
        except TimeoutError:
            return False

    async def release(self) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._holder.execute("ROLLBACK")
        except (asyncpg.PostgresError, *engine.CONNECTION_ERRORS) as error:
            raise SourceLost("the doorbell's connection was lost") from error

    def _ring(self, *_: object) -> None:
        self._heard()
        self._rung.set()

    def _lose(self, *_: object) -> None:
        self._is_lost = True
        self._rung.set()
