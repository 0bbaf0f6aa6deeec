"""The ids that need a look."""

import asyncio
from collections import deque


class DirtySet:
    """A queue of ids, each at most once, and each with at most one taker at a time.

    An id that is put while somebody has it is handed out again afterwards, once, however often it was put: whoever
    looks sees all that happened before. The set has a bound. Full means wait: whoever puts is held back, and each
    source can be, since a watch resumes and a list can be read slowly.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[str] = deque()
        self._is_waiting: set[str] = set()
        self._taken: set[str] = set()
        self._again: set[str] = set()
        self._changed = asyncio.Condition()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._again)

    async def put(self, item: str) -> None:
        """Add an id; waits for room."""
        async with self._changed:
            while item not in self._is_waiting and item not in self._again:
                if item in self._taken:
                    self._again.add(item)  # bounded by the number of takers
                elif len(self._waiting) < self._limit:
                    self._push(item)
                else:
                    await self._changed.wait()

    async def take(self) -> str:
        """Take the id that has waited longest; to be given back with `done`."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._waiting))
            item = self._waiting.popleft()
            self._is_waiting.remove(item)
            self._taken.add(item)
            self._changed.notify_all()
            return item

    async def done(self, item: str) -> None:
        """Give an id back."""
        async with self._changed:
            self._taken.remove(item)
            if item in self._again:
                self._again.remove(item)
                self._push(item)

    def _push(self, item: str) -> None:
        self._waiting.append(item)
        self._is_waiting.add(item)
        self._changed.notify_all()
