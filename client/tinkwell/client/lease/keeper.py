"""Keeps the lease of an owner: what it runs is its own for as long as it says in time that it lives.

Theory of operation. The server takes an owner that was silent for the length of a lease for dead, and gives what it ran
to others. So both sides count, each by its own clock, and the owner counts from before it asked: it is never the later
one to know that its lease is over. Its clock goes on while the machine sleeps.

    acquire ──▶ renew every third of it ──▶ in time: go on
                      │        └───────────▶ too late: it is over. Whoever listens kills what others may start anew;
                      │                      asking goes on, for a lease that nobody was faster with lives on
                      └── it is lost: acquire another one, greater, to which what was held moves

With each renewal the server names workflows and operations whose owner is dead, for somebody to see to. There is one
lease for all that a process does, and one listener for each kind of that, if it wants to hear of it.
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

# A lease is renewed this often in its time.
RENEWALS = 3
# A silent server is asked again after a third of the lease, within these bounds.
CALL_SECONDS = 10.0
SHORTEST_CALL_SECONDS = 1.0


class LeaseApi(Protocol):
    """What keeping a lease needs of the server."""

    async def acquire(self, owner: str, engine: str) -> Lease:
        """Begin a lease; a former one of this owner is over."""

    async def renew(self, lease_token: int) -> Renewed:
        """Let a lease live on; raises `LeaseLost`."""

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        """Say that nothing of a workflow runs here any more; without a workflow, end the lease."""


class Listener(Protocol):
    """Who wants to know what becomes of the lease."""

    def inherit(self, ids: Iterable[str]) -> None:
        """Hear which workflows or operations are held under the lease from its beginning; there need not be any."""

    def hear_of_lost(self, ids: Iterable[str]) -> None:
        """Hear of workflows or operations whose owner is dead."""

    def lose(self) -> None:
        """Hear that the lease is over, and that what runs under it may be given to others."""


def _boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Keeper:
    """Keeps the lease of one owner. `engine` names where its runs are; who has the same one finds the same runs.

    `clock` gives seconds that go on while the machine sleeps.
    """

    def __init__(self, api: LeaseApi, *, owner: str, engine: str, clock: Callable[[], float] = _boot_time) -> None:
        self._api = api
        self._owner = owner
        self._engine = engine
        self._clock = clock
        self._listeners: dict[RunKind, Listener] = {}
        self._token = 0
        self._seconds = 0.0
        # When the lease is over, by the clock, unless it is renewed.
        self._ends_at = 0.0
        self._is_over = False
        # How often it was over, or became another one.
        self._breaks = 0
        self._is_asked = asyncio.Event()
        # Set and replaced each time that the server has answered that the lease lives.
        self._is_confirmed = asyncio.Event()

    def add(self, kind: RunKind, listener: Listener) -> None:
        """Name the one who wants to know what becomes of the lease and of this kind of work; before `run` begins."""
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
        """Say whether this is the token of the lease, and the lease lives by this side's clock."""
        return bool(token) and token == self._token and self._clock() < self._ends_at

    @property
    def is_good(self) -> bool:
        """Whether the lease lives by this side's clock: nobody else can have what is held under it."""
        return self.lives(self._token)

    def unbroken(self) -> Callable[[], bool]:
        """Return what says, in any thread, whether the lease lives and has lived all the time since now.

        A lease that lives on after it was over may have lost what was held under it.
        """
        breaks = self._breaks
        return lambda: self.is_good and breaks == self._breaks

    async def until_good(self) -> None:
        """Ask for the lease until it lives, or another one does."""
        while not self.is_good:
            await self._ask()

    async def make_sure(self, token: int) -> None:
        """Have the server say whether the lease of this token lives; if not, wait for another one."""
        if token == self._token:
            await self._ask()

    async def _ask(self) -> None:
        confirmed = self._is_confirmed
        self._is_asked.set()
        await confirmed.wait()

    @property
    def grace_seconds(self) -> float:
        """For how long what is lost is left to those who have its run at hand: they hear of it within the rest."""
        return self._seconds * (RENEWALS - 1) / RENEWALS

    async def under(self, call: Callable[[int], Awaitable[T]]) -> T:
        """Call with the lease's token. Where it is refused as lost, make sure of the lease and call once more.

        Raises `errors.LeaseLost` where the lease is good, so that what the call is about is another's.
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
        """Say that nothing of a workflow runs here any more; False where the server does not want to hear it."""
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
        """Give up the lease, and all that is held under it, for there is nothing left; it is tried once."""
        if not self._token:
            return
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._api.release(self._token)
        except (TimeoutError, errors.Error) as error:
            logger.warning("the lease cannot be ended", extra={"cause": str(error) or type(error).__name__})

    async def run(self) -> NoReturn:
        """Keep the lease until cancelled; raises an `errors.Error` that cannot be mended."""
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
        """Tell once, each time that the lease ends because the server was not reached."""
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
        """Call until the server answers, not waiting long for one that is silent."""
        third = self._seconds / RENEWALS or CALL_SECONDS
        limit = min(CALL_SECONDS, max(third, SHORTEST_CALL_SECONDS))

        async def in_time() -> T:
            try:
                async with asyncio.timeout(limit):
                    return await call()
            except TimeoutError as error:
                raise errors.DeadlineExceeded(f"no answer in time to: {what}") from error

        return await retry.until_answered(in_time, what=what, longest_seconds=third)
