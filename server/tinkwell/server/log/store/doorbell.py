"""The doorbell's two connections: one listens, the other holds the lock that makes writers ring.

One connection cannot do both: notifications reach a connection only between transactions, and a lock needs one.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg

from tinkwell.core.event.event import Event
from tinkwell.core.event.page import Incomplete, SourceLost
from tinkwell.server.database import reach
from tinkwell.server.log.store import row

# How many events are kept for the next `wait`. If more come, the log is read instead.
_MAX_TOLD = 100
TIMEOUT_SECONDS = 10.0
_CLOSE_SECONDS = 1
# Sent by `execute`, which returns the number of rows. `fetch` would leave a portal open in the transaction, and with it
# a snapshot: while a server sleeps, that would keep dead rows from VACUUM and make REINDEX CONCURRENTLY wait.
_REQUEST = "BEGIN; SELECT WHERE request_bell()"
_GRANTED = "SELECT 1"

# Takes an event that came in a ring; returns whether to go on waiting.
Hear = Callable[[Event], bool]


class Listener(asyncpg.Connection):  # type: ignore[misc] # asyncpg has no types
    """Passes notifications on at once. asyncpg itself would pass each one on only in the event loop's next round.

    If a release of asyncpg no longer calls this method, notifications still come through `add_listener`.
    """

    hear: Callable[[str], None] | None = None

    def _process_notification(self, pid: int, channel: str, payload: str) -> None:
        if self.hear is not None:
            self.hear(payload)
        else:
            super()._process_notification(pid, channel, payload)


class PostgresBell:
    """Implements `tinkwell.server.log.source.Bell`."""

    def __init__(
        self,
        listener: Listener,
        holder: asyncpg.Connection,
        *,
        heard: Callable[[], None],
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        # Called for each notification.
        self._heard = heard
        self._listener = listener
        self._holder = holder
        self._timeout_seconds = timeout_seconds
        # The payloads of rings that came while `wait` was not running.
        self._told: deque[str] = deque()
        # Whether a ring came without its event.
        self._must_read = False
        # Set while `wait` is running: its future, and the function that takes events.
        self._waiter: asyncio.Future[bool] | None = None
        self._hear: Hear | None = None
        self._is_lost = False
        self._is_held = False

    async def start(self) -> None:
        """Listen. Await this before the bell is used."""
        for connection in (self._listener, self._holder):
            connection.add_termination_listener(self._lose)
        channel = await self._listener.fetchval("SELECT bell_channel()")
        if channel is None:
            raise Incomplete("bell_secret is empty")
        self._listener.hear = self._ring
        await self._listener.add_listener(channel, lambda *told: self._ring(told[-1]))
        # pg_stat_activity shows each session's last statement; this one hides the channel, which is secret.
        await self._listener.fetchval("SELECT 1")

    @property
    def is_rung(self) -> bool:
        return self._must_read or bool(self._told)

    def clear(self) -> None:
        self._told.clear()
        # A lost connection stays a reason not to sleep.
        self._must_read = self._is_lost

    async def request(self) -> bool:
        async with self._using_holder(self._timeout_seconds):
            self._is_held = await self._holder.execute(_REQUEST) == _GRANTED
            if not self._is_held:
                await self._holder.execute("ROLLBACK")
            return self._is_held

    async def wait(self, timeout_seconds: float, hear: Hear) -> bool:
        while self._told and not self._must_read:
            if not self._tell(self._told.popleft(), hear):
                return self._must_read
        if self._must_read:
            return True
        loop = asyncio.get_running_loop()
        self._waiter, self._hear = loop.create_future(), hear
        timer = loop.call_later(timeout_seconds, self._wake, False)
        try:
            return await self._waiter
        finally:
            timer.cancel()
            self._waiter = self._hear = None

    async def release(self, *, timeout_seconds: float | None = None) -> None:
        self.clear()
        async with self._using_holder(timeout_seconds or self._timeout_seconds):
            # Two transactions in one round trip.
            await self._holder.execute("ROLLBACK; SELECT silence_bell()" if self._is_held else "SELECT silence_bell()")
            self._is_held = False

    async def close(self) -> None:
        """Give the bell back if it is held, so that writers need not ring for a process that has stopped."""
        if self._is_held:
            with contextlib.suppress(SourceLost):
                await self.release(timeout_seconds=_CLOSE_SECONDS)

    @asynccontextmanager
    async def _using_holder(self, timeout_seconds: float) -> AsyncIterator[None]:
        if self._is_lost:
            raise SourceLost("the doorbell's connection was lost")
        with reach.lost():
            try:
                async with asyncio.timeout(timeout_seconds):
                    yield
            except TimeoutError as error:
                # The session is not used again, not even to give the bell back.
                self._is_lost = True
                raise TimeoutError(f"the doorbell's session did not answer for {timeout_seconds} s") from error

    def _ring(self, payload: str) -> None:
        self._heard()
        if not payload or len(self._told) == _MAX_TOLD:
            self._must_read = True
            self._wake(True)
        elif self._hear is None:
            self._told.append(payload)
        else:
            # Called at once, without another round of the event loop. The task that waits need not wake for it.
            self._hear_now(payload, self._hear)

    def _hear_now(self, payload: str, hear: Hear) -> None:
        try:
            sleeps_on = self._tell(payload, hear)
        except Exception as error:
            # An error that leaves this callback would only be logged: raise it in `wait`.
            self._hear = None
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_exception(error)
        else:
            if not sleeps_on:
                self._wake(self._must_read)

    def _tell(self, payload: str, hear: Hear) -> bool:
        try:
            event = row.parse(payload)
        except ValueError:
            # The event comes from a later release, or its form is unknown. Reading the log returns it or raises why
            # not.
            self._must_read = True
            return False
        return hear(event)

    def _wake(self, is_rung: bool) -> None:
        self._hear = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(is_rung)

    def _lose(self, *_: object) -> None:
        self._is_lost = self._must_read = True
        self._wake(True)
