"""A task that may take long, for which its caller waits a short time again and again, and does other work meanwhile."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self


class Errand:
    """Runs at most one task at a time. Leaving the context cancels it."""

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
        """Start the task unless one is running, and wait for it; return the task if it is done, None after the timeout.

        If a task is running, `begin` is not called.
        """
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(begin(), name="bell")
        await asyncio.wait({self._task}, timeout=timeout_seconds)
        if not self._task.done():
            return None
        done, self._task = self._task, None
        return done
