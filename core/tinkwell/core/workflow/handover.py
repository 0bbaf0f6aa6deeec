"""When the document of a workflow may still be on its way from the worker of one action to that of the next.

Tinkerbell's worker hands a document on after it has told that its action has succeeded, and after that the next action
may begin at once, on another machine. So whoever begins it waits a moment: until the latest version is that worker's,
or until `SETTLING_SECONDS` have passed, since a worker whose action has changed nothing hands nothing on.
"""

import json
from typing import Protocol

from tinkwell.core.event.kinds import State

SETTLING_SECONDS = 0.5
# What metadata say of who has handed a document on.
WORKER, TASK, ACTION = "workerID", "taskName", "actionName"


class Ended(Protocol):
    """What is known of the action before."""

    @property
    def worker_id(self) -> str:
        """The machine it ran on."""

    @property
    def task_name(self) -> str:
        """The task it belongs to."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def state(self) -> State:
        """How it ended."""

    @property
    def exit_code(self) -> int | None:
        """What its run ended with."""

    @property
    def reboots(self) -> bool:
        """Whether it ended with a reboot of its machine."""


def may_come(before: Ended, *, worker_id: str) -> bool:
    """Say whether a document may still come from an action, for the next one on the machine of this worker.

    Tinkerbell's worker is known by that it tells no exit code.
    """
    is_told_so = before.state is State.SUCCEEDED and before.exit_code is None and not before.reboots
    return is_told_so and before.worker_id != worker_id


def is_from(metadata: str | bytes, before: Ended) -> bool:
    """Say whether a version's metadata name an action as the one that has handed it on."""
    try:
        told = json.loads(metadata)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and (told.get(TASK), told.get(ACTION)) == (before.task_name, before.name)
