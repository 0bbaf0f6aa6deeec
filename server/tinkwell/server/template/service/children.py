"""A few limited child processes that answer calls; what comes at once waits, and beyond a bound is refused."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tinkwell.core import errors
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.limit import Limits


class Children:
    """Each call has a child to itself. A child starts with the first call that finds none at rest, and then stays."""

    def __init__(
        self, module: str, paths: Sequence[Path], *, what: str, limits: Limits, places: int, max_waiting: int
    ) -> None:
        """Start nothing yet. `what` says in messages what is done here, such as "templates are rendered"."""
        self._what = what
        self._max_waiting = max_waiting
        self._waiting = 0
        self._vacant = asyncio.Semaphore(places)
        self._all = [Child(module, paths, limits=limits) for _ in range(places)]
        # The one that has worked last comes first, so that others need not be started.
        self._resting = list(self._all)

    @property
    def pids(self) -> list[int]:
        """The process ids of the children that there are."""
        return [child.pid for child in self._all if child.pid is not None]

    @property
    def waiting(self) -> int:
        """How many calls wait for a child."""
        return self._waiting

    async def call(self, request: bytes) -> bytes:
        """Have a request answered. A call that is cancelled ends the child that works on it.

        Raises `errors.LimitReached`, and what `Child.call` does.
        """
        await self._acquire()
        child = self._resting.pop()
        try:
            return await child.call(request)
        finally:
            self._resting.append(child)
            self._vacant.release()

    async def _acquire(self) -> None:
        if self._vacant.locked() and self._waiting >= self._max_waiting:
            raise errors.LimitReached(f"{self._what} for as many calls as may wait, {self._max_waiting}; try again")
        self._waiting += 1
        try:
            await self._vacant.acquire()
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """End all children, also in the middle of a call. No call starts another one."""
        for child in self._all:
            await child.close()
