"""Whether a run that is found dead was killed at its deadline, by a provisioner that could not say so any more."""

from datetime import UTC, datetime

from tinkwell.client.workflow.model import Action
from tinkwell.provisioner.runtime import port

# A run begins after its action, and ends a moment after it was told to; clocks may differ. Of short limits it is half.
MARGIN_SECONDS = 5.0
_KILLED = 128 + 9


def passed_limit(action: Action, remaining_seconds: float | None) -> float | None:
    """Return for how long the current attempt was allowed to take, once that has passed; None where it has not."""
    if remaining_seconds is None or remaining_seconds > 0 or action.started_at is None or action.reboots:
        return None
    return (datetime.now(UTC) - action.started_at).total_seconds() + remaining_seconds


def was_kept(ending: port.Exit, limit_seconds: float | None) -> bool:
    """Return whether a run was killed when the time it was allowed had passed, and not before, for another reason."""
    if limit_seconds is None or ending.code != _KILLED or ending.seconds is None or ending.note:
        return False
    return ending.seconds >= max(limit_seconds - MARGIN_SECONDS, limit_seconds / 2)
