"""How long units wait: after failures, and between two `update-status`."""

import random

from tinkwell.core.value import backoff

_FIRST_SECONDS = 5.0
_LONGEST_SECONDS = 300.0
# What is taken from a wait or added to it, lest all units ask at one time.
_RETRY_JITTER = 0.5
_TICK_JITTER = 0.2


def retry_seconds(attempt: int) -> float:
    """Return how long an event waits that has failed at its attempt of this number, from 1."""
    seconds = backoff.bound_seconds(attempt - 1, first=_FIRST_SECONDS, limit=_LONGEST_SECONDS)
    return min(_LONGEST_SECONDS, seconds * random.uniform(1 - _RETRY_JITTER, 1 + _RETRY_JITTER))  # noqa: S311


def tick_seconds(interval_seconds: float) -> float:
    """Return how long a unit waits for its next `update-status`."""
    return interval_seconds * random.uniform(1 - _TICK_JITTER, 1 + _TICK_JITTER)  # noqa: S311
