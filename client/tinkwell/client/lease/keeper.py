"""Keeps the lease of an owner: the owner has its work as long as it renews the lease in time.

Theory of operation. The server takes an owner for dead if it was silent for the length of a lease, and gives its work
to others. Both sides measure that time, each by its own clock. The owner measures from before its request, so it always
knows before the server that its lease is over. Its clock goes on while the machine sleeps.

    acquire ──▶ renew every third of it ──▶ in time: go on
                      │        └───────────▶ too late: it is over. Listeners end what others may start anew;
                      │                      asking goes on: if nobody has taken the work, the lease lives on
                      └── it is lost: acquire a new lease with a greater token, which gets the work

With each renewal the server names workflows and operations whose owner is dead, so that a live owner takes care of
them. A process has one lease for all its work, and at most one listener for each kind of work.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import NoReturn, Protocol, TypeVar

from tinkwell.client import errors, retry
from tinkwell.client.lease.model import Lease, Renewed
from tinkwell.core.value.run_key import RunKind

logger = logging.getLogger(__name__)
T = TypeVar("T")

# How often a lease is renewed within its length.
RENEWALS = 3
# A call to a silent server is given up after a third of the lease, within these bounds.
CALL_SECONDS = 10.0
SHORTEST_CALL_SECONDS = 1.0


class LeaseApi(Protocol):
    """The calls of the server that the keeper uses."""

    async def acquire(self, owner: str, engine: str) -> Lease:
        """Begin a lease, which ends the owner's former one."""

    async def renew(self, lease_token: int) -> Renewed:
        """Renew a lease; raises `LeaseLost`."""

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        """Release the machines of a workflow; without a workflow, end the lease."""


class Listener(Protocol):
    """Is told what happens to the lease."""

    def inherit(self, ids: Iterable[str]) -> None:
        """Take the ids of the workflows or operations that a new lease holds from its beginning; there may be none."""

    def hear_of_lost(self, ids: Iterable[str]) -> None:
        """Take the ids of workflows or operations whose owner is dead."""

    def lose(self) -> None:
        """The lease is over: the server may give its work to others."""


def _boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Keeper:
    """Keeps the lease of one owner. `engine` names the place of its runs:

    owners with the same engine see the same runs. `clock` returns seconds that go on while the machine sleeps.
    """

    def __init__(self, api: LeaseApi, *, owner: str, engine: str, clock: Callable[[], float] = _boot_time) -> None:
        self._api = api
        self._owner = owner
        self._engine = engine
        self._clock = clock
        self._listeners: dict[RunKind, Listener] = {}
        self._token = 0
        self._seconds = 0.0
        # The time of the clock at which the lease ends, unless it is renewed.
        self._ends_at = 0.0
        self._is_over = False
        # How often the lease was over, or was replaced by a new one.
        self._breaks = 0
        self._is_asked = asyncio.Event()
        # Set, and replaced by a new event, each time that the server confirms the lease.
        self._is_confirmed = asyncio.Event()

    def add(self, kind: RunKind, listener: Listener) -> None:
        """Set the listener for a kind of work. Call it before `run`."""
        self._listeners[kind] = listener

    async def token(self) -> int:
        """Return the lease's token; waits for the first one."""
        while not self._token:
            await self._is_confirmed.wait()
        return self._token

    def is_own(self, token: int) -> bool:
        """Say whether this is the token of the lease."""
        return token == self._token

    def lives(self, token: int) -> bool:
        """Say whether this is the token of the lease, and the lease lives by the owner's clock."""
        return bool(token) and token == self._token and self._clock() < self._ends_at

    @property
    def is_good(self) -> bool:
        """Whether the lease lives by the owner's clock, so that nobody else can have its work."""
        return self.lives(self._token)

    def unbroken(self) -> Callable[[], bool]:
        """Return a function, for any thread, that says whether the lease has lived without a break since this call.

        A lease that was over and then renewed may have lost work.
        """
        breaks = self._breaks
        return lambda: self.is_good and breaks == self._breaks

    async def until_good(self) -> None:
        """Wait until the lease lives, or a new one does."""
        while not self.is_good:
            await self._ask()

    async def make_sure(self, token: int) -> None:
        """Ask the server whether the lease of this token lives; if not, wait for a new one."""
        if token == self._token:
            await self._ask()

    async def _ask(self) -> None:
        confirmed = self._is_confirmed
        self._is_asked.set()
        await confirmed.wait()

    @property
    def grace_seconds(self) -> float:
        """For how long lost work is left to owners that can reach its run; they hear of it in the rest of the lease."""
        return self._seconds * (RENEWALS - 1) / RENEWALS

    async def under(self, call: Callable[[int], Awaitable[T]]) -> T:
        """Call with the lease's token. If the call raises `LeaseLost`, make sure of the lease and call once more.

        Raises `errors.LeaseLost` if the lease lives, and so another owner has the work that the call is about.
        """
        token, is_sure = await self.token(), False
        while True:
            try:
                return await call(token)
            except errors.LeaseLost:
                if is_sure and token == self._token:
                    raise
            await self.make_sure(token)
            token, is_sure = self._token, True

    async def release(self, workflow_id: str) -> bool:
        """Release the machines of a workflow; False if the server refuses."""
        token = await self.token()
        try:
            await self._answer(lambda: self._api.release(token, workflow_id=workflow_id), what="release machines")
        except errors.Error as error:
            if isinstance(error, retry.HOPELESS):
                raise
            logger.warning("machines cannot be released", extra={"workflow": workflow_id, "cause": str(error)})
            return False
        logger.info("machines are released", extra={"workflow": workflow_id})
        return True

    async def end(self) -> None:
        """End the lease, once nothing runs under it. A failed call is not repeated."""
        if not self._token:
            return
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._api.release(self._token)
        except (TimeoutError, errors.Error) as error:
            logger.warning("the lease cannot be ended", extra={"cause": str(error) or type(error).__name__})

    async def run(self) -> NoReturn:
        """Keep the lease until cancelled; raises an `errors.Error` if another try cannot help."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep(), name="lease")
            group.create_task(self._watch_the_clock(), name="lease's clock")
        raise AssertionError("its tasks never end by themselves")

    async def _keep(self) -> NoReturn:
        while True:
            began = self._clock()
            found = await self._answer(lambda: self._api.acquire(self._owner, self._engine), what="acquire a lease")
            self._token = found.token
            self._breaks += 1
            fields = {"owner": self._owner, "token": found.token, "seconds": found.seconds}
            inherited = {RunKind.WORKFLOW: found.workflow_ids, RunKind.RELEASE: found.operation_ids}
            logger.info("a lease is acquired", extra=fields | {"inherited": sum(map(len, inherited.values()))})
            self._confirm(began, found.seconds)
            for kind, listener in self._listeners.items():
                listener.inherit(inherited[kind])
            try:
                await self._renew_again_and_again()
            except errors.LeaseLost as error:
                logger.warning("the lease is lost", extra={"token": self._token, "cause": str(error)})

    async def _renew_again_and_again(self) -> NoReturn:
        while True:
            try:
                async with asyncio.timeout(self._seconds / RENEWALS):
                    await self._is_asked.wait()
            except TimeoutError:
                pass
            self._is_asked.clear()
            began = self._clock()
            renewed = await self._answer(lambda: self._api.renew(self._token), what="renew the lease")
            if self._is_over:
                logger.info("the lease lives on", extra={"token": self._token})
            self._confirm(began, renewed.seconds)
            lost = {RunKind.WORKFLOW: renewed.lost_workflow_ids, RunKind.RELEASE: renewed.lost_operation_ids}
            for kind, listener in self._listeners.items():
                if lost[kind]:
                    listener.hear_of_lost(lost[kind])

    def _confirm(self, asked_at: float, seconds: float) -> None:
        if self._clock() >= self._ends_at:
            self._breaks += 1
        self._seconds = seconds
        self._ends_at = asked_at + seconds
        self._is_over = False
        confirmed, self._is_confirmed = self._is_confirmed, asyncio.Event()
        confirmed.set()

    async def _watch_the_clock(self) -> NoReturn:
        """Call the listeners' `lose` once, each time that the lease ends because the server was not reached."""
        while True:
            if not self._token or self._is_over:
                await self._is_confirmed.wait()
            elif (left := self._ends_at - self._clock()) > 0:
                await asyncio.sleep(left)
            else:
                self._is_over = True
                logger.warning("the lease is over: it was not renewed in time", extra={"token": self._token})
                for listener in self._listeners.values():
                    listener.lose()

    async def _answer(self, call: Callable[[], Awaitable[T]], *, what: str) -> T:
        """Repeat a call until the server answers, with a short time limit for each try."""
        third = self._seconds / RENEWALS or CALL_SECONDS
        limit = min(CALL_SECONDS, max(third, SHORTEST_CALL_SECONDS))

        async def in_time() -> T:
            try:
                async with asyncio.timeout(limit):
                    return await call()
            except TimeoutError as error:
                raise errors.DeadlineExceeded(f"no answer in time to: {what}") from error

        return await retry.until_answered(in_time, what=what, longest_seconds=third)
