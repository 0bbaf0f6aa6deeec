"""An answer that concurrent callers share, so that many callers cost no more than one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Joined(Generic[T]):
    """A question. Calls during an answer get that answer, too. Only the first caller gets an error."""

    def __init__(self, question: Callable[[], Awaitable[T]]) -> None:
        self._question = question
        self._under_way: _Answer[T] | None = None

    async def ask(self) -> T:
        """Ask, or wait for the answer that another call is getting. Raises the errors of the question."""
        while (under_way := self._under_way) is not None:
            await under_way.is_over.wait()
            if under_way.found:
                return under_way.found[0]
        under_way = self._under_way = _Answer()
        try:
            # Lets all calls of the same moment join before the computation blocks the loop.
            await asyncio.sleep(0)
            answer = await self._question()
            under_way.found.append(answer)
            return answer
        finally:
            self._under_way = None
            under_way.is_over.set()


class _Answer(Generic[T]):
    def __init__(self) -> None:
        self.is_over = asyncio.Event()
        # The answer, once there is one, or nothing.
        self.found: list[T] = []
