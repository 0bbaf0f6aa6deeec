"""Blocking calls from asyncio, made to their end."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


async def run(executor: Executor, function: Callable[[], T]) -> T:
    """Run a blocking function, which must have a time limit of its own.

    A call that has begun has its effect whether somebody waits or not. So a cancelled caller still waits for its end:
    whoever looks afterwards then sees what became of it.
    """
    call = executor.submit(function)
    end = asyncio.wrap_future(call)
    try:
        return await asyncio.shield(end)
    except asyncio.CancelledError:
        if not call.cancel():  # the call, not its asyncio future: that one says yes whatever the thread does
            await asyncio.wait([end])
        raise
