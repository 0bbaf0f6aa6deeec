"""Long works side by side, as a process runs them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


async def together(*works: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Do works until all have ended; the failure of one ends the others."""
    async with asyncio.TaskGroup() as group:
        for work in works:
            group.create_task(work())
