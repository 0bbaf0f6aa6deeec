"""The order of the faults: a shuffled deck of all kinds, dealt again and again, a few at the same time."""

import asyncio
import enum
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

_AT_ONCE = 5
_PAUSE_SECONDS = 0.5
# Of a run's time, so that all rounds are dealt before it is over.
_SHARE = 0.9
# What cannot happen for so long once the time is over does not happen any more.
_PATIENCE_SECONDS = 60.0

K = TypeVar("K", bound=enum.StrEnum)


class Deck(Generic[K]):
    """Deals faults for some seconds, and longer when a kind was not yet injected `rounds` times.

    `inject` lets a kind of fault happen, and returns whether it really did. What cannot happen any more, since what it
    would befall has come to its end, is given up after a while, and is among the `shortfalls`.
    """

    def __init__(
        self,
        kinds: Sequence[K],
        inject: Callable[[K], Awaitable[bool]],
        *,
        chance: random.Random,
        seconds: float,
        rounds: int,
        at_once: int = _AT_ONCE,
        pause_seconds: float = _PAUSE_SECONDS,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        self.kinds = kinds
        self.injected: Counter[K] = Counter()
        self.in_vain: Counter[K] = Counter()
        self._inject_once = inject
        self._chance = chance
        self._seconds = seconds
        self._rounds = rounds
        self._interval = seconds * _SHARE / (rounds * len(kinds))
        self._pause_seconds = pause_seconds
        self._patience_seconds = patience_seconds
        self._free = asyncio.Semaphore(at_once)
        self._open: Counter[K] = Counter()
        self._given_up: set[K] = set()
        self._end = 0.0

    @property
    def shortfalls(self) -> list[str]:
        """Say of each kind that was given up how often it was injected: such a run has shown less than it was to."""
        return [
            f"injected {self.injected[kind]} times, where {self._rounds} were asked for: {kind}"
            for kind in self.kinds
            if kind in self._given_up and self.injected[kind] < self._rounds
        ]

    async def deal(self) -> None:
        """Inject faults until the time is over and each kind has been injected often enough, and all have ended."""
        loop = asyncio.get_running_loop()
        end = self._end = loop.time() + self._seconds
        next_at = loop.time()
        async with asyncio.TaskGroup() as tasks:
            cards: list[K] = []
            while loop.time() < end or self._wanted():
                cards = cards or self._shuffled(is_over=loop.time() >= end)
                if not cards:
                    await asyncio.sleep(self._pause_seconds)  # what is under way may still fail
                    continue
                await self._free.acquire()
                kind = cards.pop()
                self._open[kind] += 1
                tasks.create_task(self._inject(kind))
                next_at = max(next_at + self._interval * self._chance.uniform(0.2, 1.8), loop.time())
                await asyncio.sleep(next_at - loop.time())

    def _wanted(self) -> list[K]:
        return [kind for kind in self.kinds if self.injected[kind] < self._rounds and kind not in self._given_up]

    def _shuffled(self, *, is_over: bool) -> list[K]:
        kinds = [kind for kind in self._wanted() if not self._open[kind]] if is_over else list(self.kinds)
        self._chance.shuffle(kinds)
        return kinds

    async def _inject(self, kind: K) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            while not await self._inject_once(kind):
                self.in_vain[kind] += 1
                if loop.time() > max(began, self._end) + self._patience_seconds:
                    self._given_up.add(kind)
                    return
                await asyncio.sleep(self._pause_seconds)
            self.injected[kind] += 1
        finally:
            self._open[kind] -= 1
            self._free.release()
