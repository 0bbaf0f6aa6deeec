"""When the document of a workflow may still be on its way from the worker of one action to the worker of the next.

Tinkerbell's worker sends the document after it has reported that its action succeeded. The next action may begin at
once after that report, on another machine. So the worker of the next action waits: until the latest version of the
document is from the earlier worker, or until `SETTLING_SECONDS` have passed, because a worker whose action changed
nothing sends nothing.
"""

import json
from typing import Protocol

from tinkwell.core.event.kinds import State

SETTLING_SECONDS = 0.5
# Keys of a version's metadata, which name the action that sent the document.
WORKER, TASK, ACTION = "workerID", "taskName", "actionName"


class Ended(Protocol):
    """The action that ended before."""

    @property
    def worker_id(self) -> str:
        """The worker that ran it."""

    @property
    def task_name(self) -> str:
        """The name of its task."""

    @property
    def name(self) -> str:
        """The name of the action."""

    @property
    def state(self) -> State:
        """The state in which it ended."""

    @property
    def exit_code(self) -> int | None:
        """The exit code of its run, None if the worker reported none."""

    @property
    def reboots(self) -> bool:
        """Whether it ended with a reboot of its machine."""


def may_come(before: Ended, *, worker_id: str) -> bool:
    """Return whether an action may still send a document, for the next action on the machine of `worker_id`.

    Tinkerbell's worker reports no exit code, which tells it from Tinkwell's.
    """
    is_told_so = before.state is State.SUCCEEDED and before.exit_code is None and not before.reboots
    return is_told_so and before.worker_id != worker_id


def is_from(metadata: str | bytes, before: Ended) -> bool:
    """Return whether a version's metadata name the action as its sender."""
    try:
        told = json.loads(metadata)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and (told.get(TASK), told.get(ACTION)) == (before.task_name, before.name)
