"""A queue of the ids that workers must look at."""

import asyncio
from collections import deque


class DirtySet:
    """A queue that holds each id at most once, and gives each id to at most one worker at a time.

    An id that is put while a worker has it is handed out once more after `done`, however often it was put: a worker
    sees everything that happened before it took the id. At most `limit` ids wait. When the queue is full, `put` waits.
    Its callers can wait, since a watch resumes and a list can be read slowly.
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
                    self._again.add(item)  # holds at most one id for each worker
                elif len(self._waiting) < self._limit:
                    self._push(item)
                else:
                    await self._changed.wait()

    async def take(self) -> str:
        """Remove and return the id that has waited longest. The worker must call `done` with it afterwards."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._waiting))
            item = self._waiting.popleft()
            self._is_waiting.remove(item)
            self._taken.add(item)
            self._changed.notify_all()
            return item

    async def done(self, item: str) -> None:
        """Say that the worker is done with an id."""
        async with self._changed:
            self._taken.remove(item)
            if item in self._again:
                self._again.remove(item)
                self._push(item)

    def _push(self, item: str) -> None:
        self._waiting.append(item)
        self._is_waiting.add(item)
        self._changed.notify_all()
