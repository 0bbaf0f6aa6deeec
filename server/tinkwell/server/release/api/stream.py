"""Reads streams of requests, whose clients may fall silent."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

from tinkwell.core import errors

SILENCE_SECONDS = 60.0
# The bytes that are read of a stream after an error in it.
MAX_READ_BYTES = 64 * 1024 * 1024

R = TypeVar("R")


async def read(requests: AsyncIterator[R], silence_seconds: float) -> R | None:
    """Return the next request, or None at the end. Raises `errors.TooSlow` if no request comes in time."""
    try:
        async with asyncio.timeout(silence_seconds):
            return await anext(requests, None)
    except TimeoutError as error:
        raise errors.TooSlow(f"the client sent nothing for {silence_seconds:g} seconds") from error
