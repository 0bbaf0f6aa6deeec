"""Calls to a server that may be away for a while."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tinkwell.client import backoff, errors
from tinkwell.client.watch import watch

logger = logging.getLogger(__name__)
T = TypeVar("T")

LONGEST_SECONDS = backoff.LONGEST_SECONDS
# What only an operator can mend.
HOPELESS = (errors.Unauthenticated, errors.Unimplemented, errors.Closed)


async def until_answered(
    call: Callable[[], Awaitable[T]],
    *,
    what: str,
    gives_up: tuple[type[errors.Error], ...] = (),
    longest_seconds: float | None = None,
) -> T:
    """Call again and again, for ever, until the server answers; raises the `errors.Error` that is its answer.

    `gives_up` adds errors that are not waited out; `longest_seconds` makes pauses shorter than usual. What is called
    must be safe to repeat. Cancelling ends it.
    """
    pause = backoff.Backoff(longest_seconds=min(longest_seconds or LONGEST_SECONDS, LONGEST_SECONDS))
    level = logging.WARNING
    while True:
        try:
            return await call()
        except errors.Error as error:
            if watch.is_final(error) or isinstance(error, gives_up):
                raise
            delay = pause.next_seconds()
            fields = {"call": what, "cause": str(error), "again_in": delay}
            logger.log(level, "the server does not answer", extra=fields)
            level = logging.DEBUG  # it was said once
        await asyncio.sleep(delay)
