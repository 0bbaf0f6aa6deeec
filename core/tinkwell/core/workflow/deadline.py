"""The deadlines of attempts at actions: the only place with this rule.

An action may have a timeout, which counts from the start of each attempt. Its workflow may have one too, which counts
from the start of its first action and includes the time between actions. The deadline is the end of the timeout that
ends first:

    starts           seconds to the deadline of an attempt that starts now
    left             seconds to the end of a timeout that began `elapsed_seconds` ago
    soonest          the first of several ends
    is_by_workflow   whether the workflow's timeout passed first

The database keeps the time: all times here are seconds from the database's current time. None means no end, as does a
timeout of 0. The worker that runs an action enforces its deadline. If the worker does not, any caller may have the
action ended once the seconds of `grace` have passed after the deadline.
"""

# The worker that runs an action reports a timeout within this time. After it, any caller may end the action.
GRACE_SECONDS = 1.0
# Without a lease the worker may be Tinkerbell's. That worker counts from when the image is there, removes the container
# before it reports the end, and repeats a failed report only after some seconds.
UNLEASED_GRACE_SECONDS = 30.0


def grace(*, is_leased: bool) -> float:
    """Return the seconds after a deadline in which the worker may still report the end itself."""
    return GRACE_SECONDS if is_leased else UNLEASED_GRACE_SECONDS


def left(timeout_seconds: int, *, elapsed_seconds: float) -> float | None:
    """Return the seconds to the end of a timeout, negative once it has passed; None for a timeout of 0."""
    return timeout_seconds - elapsed_seconds if timeout_seconds > 0 else None


def soonest(*ends: float | None) -> float | None:
    """Return the smallest of some times; None is no end."""
    return min((end for end in ends if end is not None), default=None)


def starts(timeout_seconds: int, *, workflow_seconds: float | None) -> float | None:
    """Return the seconds to the deadline of an attempt that starts now; `workflow_seconds` are left to the workflow."""
    return soonest(left(timeout_seconds, elapsed_seconds=0.0), workflow_seconds)


def is_by_workflow(action_seconds: float | None, *, workflow_seconds: float | None) -> bool:
    """Return whether the workflow's timeout passed before the action's, given the seconds left to both."""
    if workflow_seconds is None or workflow_seconds > 0:
        return False
    return action_seconds is None or workflow_seconds < action_seconds
