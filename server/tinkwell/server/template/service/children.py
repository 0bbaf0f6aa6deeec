"""A few limited child processes that answer calls. Further calls wait, and beyond a bound are refused."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tinkwell.core import errors
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.limit import Limits


class Children:
    """Each call has a child of its own. A child is started by the first call that finds none idle, and then stays."""

    def __init__(
        self, module: str, paths: Sequence[Path], *, what: str, limits: Limits, places: int, max_waiting: int
    ) -> None:
        """Start no child yet. `what` names the work in messages, such as "templates are rendered"."""
        self._what = what
        self._max_waiting = max_waiting
        self._waiting = 0
        self._vacant = asyncio.Semaphore(places)
        self._all = [Child(module, paths, limits=limits) for _ in range(places)]
        # The child that worked last comes first, so that no more are started than needed.
        self._resting = list(self._all)

    @property
    def pids(self) -> list[int]:
        """The process ids of the running children."""
        return [child.pid for child in self._all if child.pid is not None]

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a child."""
        return self._waiting

    async def call(self, request: bytes) -> bytes:
        """Send a request to a child. A cancelled call ends the child that works on it.

        Raises `errors.LimitReached`, and the errors of `Child.call`.
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
        """End all children, even during a call. No call starts another one."""
        for child in self._all:
            await child.close()
