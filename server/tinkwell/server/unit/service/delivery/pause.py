"""The times that units wait: after failures, and between two `update-status` events."""

import random

from tinkwell.core.value import backoff

_FIRST_SECONDS = 5.0
_LONGEST_SECONDS = 300.0
# The part of a wait that is random, so that units do not all ask at the same time.
_RETRY_JITTER = 0.5
_TICK_JITTER = 0.2


def retry_seconds(attempt: int) -> float:
    """Return the seconds until the retry of an event whose attempt with this number, from 1, has failed."""
    seconds = backoff.bound_seconds(attempt - 1, first=_FIRST_SECONDS, limit=_LONGEST_SECONDS)
    return min(_LONGEST_SECONDS, seconds * random.uniform(1 - _RETRY_JITTER, 1 + _RETRY_JITTER))  # noqa: S311


def tick_seconds(interval_seconds: float) -> float:
    """Return the seconds until the next `update-status` of a unit."""
    return interval_seconds * random.uniform(1 - _TICK_JITTER, 1 + _TICK_JITTER)  # noqa: S311
