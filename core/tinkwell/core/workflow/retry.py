"""Whether an attempt that ended without success is repeated, and when.

The same rule serves every end of an attempt: a report, a deadline that has passed, the loss of the worker. A cancelled
action is never repeated.
"""

MAX_RETRIES = 100
DEFAULT_DELAY_SECONDS = 5
MAX_DELAY_SECONDS = 24 * 60 * 60
# Doubling stops at this delay; a longer first delay is used as it is.
MAX_GROWN_SECONDS = 60 * 60


def delay_seconds(first_seconds: int, attempt: int) -> int:
    """Return the delay after this attempt, counted from 1: the first delay, doubled with each attempt."""
    if first_seconds >= MAX_GROWN_SECONDS:
        return first_seconds
    # Twelve doublings of 1 second are more than MAX_GROWN_SECONDS, so higher powers are never needed.
    return min(first_seconds << min(attempt - 1, 12), MAX_GROWN_SECONDS)


def wait_seconds(
    *, attempt: int, retries: int, first_delay_seconds: int, workflow_remaining_seconds: float | None
) -> int | None:
    """Return the seconds until an attempt that ended without success is repeated; None if it is not repeated.

    There are `retries` attempts after the first. An attempt that could begin only after the workflow's deadline is not
    made, because the failure of the last attempt explains more than a timeout would. `workflow_remaining_seconds` is
    None without a deadline.
    """
    if attempt > retries:
        return None
    delay = delay_seconds(first_delay_seconds, attempt)
    left = workflow_remaining_seconds
    return delay if left is None or delay < left else None
