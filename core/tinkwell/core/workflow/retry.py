"""Whether an attempt that ended without success is repeated, and when.

The one rule for whatever ends an attempt: its worker's report, a deadline that is past, or the loss of its worker. A
cancellation is none of these, since it ends what it meets for good.
"""

MAX_RETRIES = 100
DEFAULT_DELAY_SECONDS = 5
MAX_DELAY_SECONDS = 24 * 60 * 60
# Doubling goes no further; a first delay that is longer than this stays as it is.
MAX_GROWN_SECONDS = 60 * 60


def delay_seconds(first_seconds: int, attempt: int) -> int:
    """Return how long to wait after this attempt, counted from 1: the first delay, doubled with each attempt."""
    if first_seconds >= MAX_GROWN_SECONDS:
        return first_seconds
    # An hour is less than 2 to the 12th seconds, so that no higher power is needed.
    return min(first_seconds << min(attempt - 1, 12), MAX_GROWN_SECONDS)


def wait_seconds(
    *, attempt: int, retries: int, first_delay_seconds: int, workflow_remaining_seconds: float | None
) -> int | None:
    """Return the seconds until an attempt that has ended without success is repeated; None where it is not.

    There are `retries` attempts after the first. What could begin only after the workflow's deadline is not waited for,
    since the end of the attempt says more than the end of the time. `workflow_remaining_seconds` is None without one.
    """
    if attempt > retries:
        return None
    delay = delay_seconds(first_delay_seconds, attempt)
    left = workflow_remaining_seconds
    return delay if left is None or delay < left else None
