"""Something that takes as long as it takes, while whoever wants it goes on with other things."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self


class Errand:
    """At most one task, which does not outlive the context."""

    def __init__(self) -> None:
        self._task: asyncio.Task[bool] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def wait(
        self, begin: Callable[[], Coroutine[Any, Any, bool]], timeout_seconds: float
    ) -> asyncio.Task[bool] | None:
        """Begin, unless that was done before, and wait; return the task once it is done, None after the time."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(begin(), name="bell")
        await asyncio.wait({self._task}, timeout=timeout_seconds)
        if not self._task.done():
            return None
        done, self._task = self._task, None
        return done
