"""Limits how many children live at once, though each owner has its own child, which sees only its owner's input.

A call whose child lives goes on at once if there is a place for it. If all places are taken by idle children, the one
that has been idle longest is ended; it starts again with its next call. If all children are busy, the call waits.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Protocol


class Lodger(Protocol):
    """A child, as the room sees it."""

    @property
    def pid(self) -> int | None:
        """The process id, while there is a process."""

    async def rest(self) -> None:
        """End the idle process."""


class Room:
    """Has a fixed number of places for children."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._vacant = asyncio.Semaphore(places)
        self._at_work = 0
        self._resting: OrderedDict[Lodger, None] = OrderedDict()

    @contextlib.asynccontextmanager
    async def place(self, child: Lodger) -> AsyncIterator[None]:
        """Hold a place for one call of a child, which makes one call at a time."""
        async with self._vacant:
            self._at_work += 1
            self._resting.pop(child, None)
            try:
                while self._at_work + len(self._resting) > self._places:
                    other, _ = self._resting.popitem(last=False)
                    await other.rest()
                yield
            finally:
                self._at_work -= 1
                if child.pid is not None:
                    self._resting[child] = None

    def forget(self, child: Lodger) -> None:
        """Record that a child has ended."""
        self._resting.pop(child, None)
