"""Runs long computations in threads or in pieces, so that the event loop is not blocked."""

import asyncio
import functools
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

# The number of rows or messages that are read or built within a few milliseconds.
PIECE = 100


async def each(function: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """Return the function's results for all items. Other tasks run between pieces of them."""
    made: list[T] = []
    for number, item in enumerate(items, start=1):
        made.append(function(item))
        if not number % PIECE:
            await asyncio.sleep(0)
    return made


class Aside:
    """Runs functions in threads, a few at a time.

    The others wait; their number is bounded by the calls being served.
    """

    def __init__(self, limit: int) -> None:
        self._turn = asyncio.Semaphore(limit)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the function returns.

        A thread cannot be stopped, so its place is free when it ends, not its caller.
        """
        await self._turn.acquire()
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(None, functools.partial(function, *args, **kwargs))
        running.add_done_callback(self._end_turn)
        return await asyncio.shield(running)

    def _end_turn(self, running: asyncio.Future[T]) -> None:
        self._turn.release()
        # Its caller may have been cancelled, and asyncio complains about errors that are never read.
        if not running.cancelled():
            running.exception()
