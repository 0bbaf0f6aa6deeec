"""Until when an attempt at an action may take: the one rule, for whoever starts an attempt, judges it or asks for it.

An action may have a timeout, which counts from the start of each attempt, and its workflow may have one, which counts
from the start of its first action and holds between two actions as well. Whichever ends sooner is the deadline:

    starts      seconds to the deadline of an attempt that starts now
    left        seconds to the end of a timeout that has run for so long
    soonest     the sooner of two ends
    is_by_workflow   which of the two it was that passed

The clock is the database's, so all times here are seconds from a moment that the database tells. None means without
end, as does a timeout of 0. Whoever runs an action enforces its deadline; where nobody does, anybody may ask to have it
ended once the time of `grace` has passed as well.
"""

# Who runs an action reports its timeout by itself, and gets so long for it. After that, whoever asks ends it.
GRACE_SECONDS = 1.0
# Who runs it under no lease may be a worker of Tinkerbell's. That counts from when the image is there, removes the
# container before it says how the action ended, and repeats a report that fails after some seconds.
UNLEASED_GRACE_SECONDS = 30.0


def grace(*, is_leased: bool) -> float:
    """Return for how long whoever runs an action may be silent after its deadline."""
    return GRACE_SECONDS if is_leased else UNLEASED_GRACE_SECONDS


def left(timeout_seconds: int, *, elapsed_seconds: float) -> float | None:
    """Return the seconds to the end of a timeout, below 0 when it is past."""
    return timeout_seconds - elapsed_seconds if timeout_seconds > 0 else None


def soonest(*ends: float | None) -> float | None:
    """Return the seconds to the first of these ends."""
    return min((end for end in ends if end is not None), default=None)


def starts(timeout_seconds: int, *, workflow_seconds: float | None) -> float | None:
    """Return the seconds to the deadline of an attempt that starts now, in a workflow that has so many left."""
    return soonest(left(timeout_seconds, elapsed_seconds=0.0), workflow_seconds)


def is_by_workflow(action_seconds: float | None, *, workflow_seconds: float | None) -> bool:
    """Return whether it was the workflow's timeout that passed first, given what is left of both."""
    if workflow_seconds is None or workflow_seconds > 0:
        return False
    return action_seconds is None or workflow_seconds < action_seconds
