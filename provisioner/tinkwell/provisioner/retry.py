"""Calls to a server that may be away for a while."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tinkwell.client import backoff, errors, watch

logger = logging.getLogger(__name__)
T = TypeVar("T")

LONGEST_SECONDS = 5.0


async def until_answered(call: Callable[[], Awaitable[T]], *, what: str) -> T:
    """Call again and again, for ever, until the server answers; raises the `errors.Error` that is its answer.

    What is called must be safe to repeat. Cancelling the caller ends it.
    """
    pause = backoff.Backoff(longest_seconds=LONGEST_SECONDS)
    while True:
        try:
            return await call()
        except errors.Error as error:
            if watch.is_final(error):
                raise
            delay = pause.next_seconds()
            logger.warning("the server does not answer", extra={"call": what, "cause": str(error), "again_in": delay})
        await asyncio.sleep(delay)
