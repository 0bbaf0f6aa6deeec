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
# Errors that only an operator can remove.
HOPELESS = (errors.Unauthenticated, errors.Unimplemented, errors.Closed)


async def until_answered(
    call: Callable[[], Awaitable[T]],
    *,
    what: str,
    gives_up: tuple[type[errors.Error], ...] = (),
    longest_seconds: float | None = None,
) -> T:
    """Repeat a call until the server answers, for ever; raises the `errors.Error` that the server answers with.

    `gives_up` adds errors after which the call is not repeated; `longest_seconds` shortens the longest pause. The call
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
            level = logging.DEBUG  # only the first failure is logged as a warning
        await asyncio.sleep(delay)
