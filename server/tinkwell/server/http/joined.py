"""An answer that all who ask for it at the same time share, so that many who ask cost no more than one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Joined(Generic[T]):
    """A question. Whoever asks while it is being answered gets that answer; an error is the first one's alone."""

    def __init__(self, question: Callable[[], Awaitable[T]]) -> None:
        self._question = question
        self._under_way: _Answer[T] | None = None

    async def ask(self) -> T:
        """Ask, or wait for the answer that somebody else is getting. Raises what the question raises."""
        while (under_way := self._under_way) is not None:
            await under_way.is_over.wait()
            if under_way.found:
                return under_way.found[0]
        under_way = self._under_way = _Answer()
        try:
            # All who have come in the same moment join, before an answer is made that takes the loop for itself.
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
        # The answer, once there is one.
        self.found: list[T] = []
