"""The lease under which an agent serves units.

The server takes an agent that was silent for the length of its lease for dead. Both sides count, each by its own clock,
and the agent counts from before it asked, so that it is never the later one to know. Its clock goes on while the
machine sleeps.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import NoReturn, Protocol, TypeVar

from tinkwell.client import backoff, errors
from tinkwell.client.lease.model import Lease as Acquired
from tinkwell.client.lease.model import Renewed
from tinkwell.client.watch import watch

logger = logging.getLogger(__name__)
T = TypeVar("T")

# A lease is renewed this often in its time.
_RENEWALS = 3
_CALL_SECONDS = 10.0


class LeaseApi(Protocol):
    """What a lease needs of the server."""

    async def acquire(self, owner: str, engine: str) -> Acquired:
        """Begin a lease; a former one of this owner is over."""

    async def renew(self, lease_token: int) -> Renewed:
        """Let a lease live on; raises `LeaseLost`."""

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        """End a lease."""


def _boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """Keeps one lease after the other for an agent, whose `engine` is also its owner's name."""

    def __init__(self, api: LeaseApi, engine: str, *, clock: Callable[[], float] = _boot_time) -> None:
        self._api = api
        self._engine = engine
        self._clock = clock
        self._token = 0
        self._seconds = _CALL_SECONDS
        self._ends_at = 0.0
        self._is_doubted = asyncio.Event()
        # Replaced each time that the server has said that the lease lives.
        self._is_confirmed = asyncio.Event()

    async def token(self) -> int:
        """Return the token; waits for the first one."""
        while not self._token:
            await self._is_confirmed.wait()
        return self._token

    def lives(self, token: int) -> bool:
        """Say whether a token is that of the lease, and the lease lives by this side's clock."""
        return token == self._token and self._clock() < self._ends_at

    async def under(self, call: Callable[[int], Awaitable[T]]) -> T:
        """Call with the token. Where that is refused as lost, make sure of the lease, and call once more.

        Raises `LeaseLost` where the lease is good, so that what the call is about is another's.
        """
        token = await self.token()
        try:
            return await call(token)
        except errors.LeaseLost:
            await self.make_sure(token)
        return await call(self._token)

    async def make_sure(self, token: int) -> None:
        """Have the server say whether the lease of this token lives; if not, wait for another one."""
        if token == self._token:
            confirmed = self._is_confirmed
            self._is_doubted.set()
            await confirmed.wait()

    async def run(self) -> NoReturn:
        """Keep the lease until cancelled; raises an `errors.Error` that cannot be mended."""
        while True:
            before = self._clock()
            found = await self._answer(lambda: self._api.acquire(self._engine, self._engine), what="acquire a lease")
            self._token = found.token
            self._confirm(before, found.seconds)
            logger.info("a lease is acquired", extra={"token": found.token, "seconds": found.seconds})
            try:
                await self._renew_again_and_again()
            except errors.LeaseLost as error:
                logger.warning("the lease is lost", extra={"token": self._token, "cause": str(error)})

    async def end(self) -> None:
        """Give the lease up; it is tried once."""
        if not self._token:
            return
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                await self._api.release(self._token)
        except (TimeoutError, errors.Error) as error:
            logger.warning("the lease cannot be ended", extra={"cause": str(error) or type(error).__name__})

    async def _renew_again_and_again(self) -> NoReturn:
        while True:
            try:
                async with asyncio.timeout(self._seconds / _RENEWALS):
                    await self._is_doubted.wait()
            except TimeoutError:
                pass
            self._is_doubted.clear()
            before = self._clock()
            renewed = await self._answer(lambda: self._api.renew(self._token), what="renew the lease")
            self._confirm(before, renewed.seconds)

    def _confirm(self, asked_at: float, seconds: float) -> None:
        self._seconds = seconds
        self._ends_at = asked_at + seconds
        confirmed, self._is_confirmed = self._is_confirmed, asyncio.Event()
        confirmed.set()

    async def _answer(self, call: Callable[[], Awaitable[T]], *, what: str) -> T:
        """Call until the server answers; a silent one is asked again before the lease is over."""
        limit = min(_CALL_SECONDS, max(1.0, self._seconds / _RENEWALS))

        async def in_time() -> T:
            try:
                async with asyncio.timeout(limit):
                    return await call()
            except TimeoutError as error:
                raise errors.DeadlineExceeded(f"no answer in time to: {what}") from error

        return await until_answered(in_time, what=what)


async def until_answered(call: Callable[[], Awaitable[T]], *, what: str) -> T:
    """Call again and again until the server answers; raises the `errors.Error` that is its answer.

    What is called must be safe to repeat.
    """
    pause = backoff.Backoff()
    level = logging.WARNING
    while True:
        try:
            return await call()
        except errors.Error as error:
            if watch.is_final(error):
                raise
            logger.log(level, "the server does not answer", extra={"call": what, "cause": str(error)})
            level = logging.DEBUG  # it was said once
        await asyncio.sleep(pause.next_seconds())
