"""Waiting for a condition, with a deadline instead of a guess."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable


async def eventually(
    condition: Callable[[], bool | Awaitable[bool]], *, deadline_seconds: float = 10.0, interval_seconds: float = 0.005
) -> None:
    """Return once the condition holds; fail when it does not within the deadline."""
    async with asyncio.timeout(deadline_seconds):
        while True:
            holds = condition()
            if inspect.isawaitable(holds):
                holds = await holds
            if holds:
                return
            await asyncio.sleep(interval_seconds)
