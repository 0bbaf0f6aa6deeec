"""How many children live at once, though each of many owners has its own, so that none sees what another one worked on.

A call whose child lives goes on at once, while there is a place for it. Where all places are taken by children that
rest, the one that has rested longest ends, and starts anew with its next call. Where all are at work, the call waits.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Protocol


class Lodger(Protocol):
    """A child, as the room knows it."""

    @property
    def pid(self) -> int | None:
        """The process id, while there is a process."""

    async def rest(self) -> None:
        """End the process, which is not at work."""


class Room:
    """Has places for so many children."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._vacant = asyncio.Semaphore(places)
        self._at_work = 0
        self._resting: OrderedDict[Lodger, None] = OrderedDict()

    @contextlib.asynccontextmanager
    async def place(self, child: Lodger) -> AsyncIterator[None]:
        """Have a place for one call of a child, which makes one call at a time."""
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
        """Hear that a child has ended."""
        self._resting.pop(child, None)
