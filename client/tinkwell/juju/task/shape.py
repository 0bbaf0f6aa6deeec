"""Describes tasks as Juju writes them."""

from typing import TYPE_CHECKING, Any

from tinkwell.core.unit.kinds import TaskState
from tinkwell.juju.shell import moment

if TYPE_CHECKING:
    from tinkwell.client import Task

_STATUSES = {
    TaskState.PENDING: "pending",
    TaskState.RUNNING: "running",
    TaskState.SUCCEEDED: "completed",
    TaskState.FAILED: "failed",
    # Juju has no state for a task that took too long; the message of the task says so.
    TaskState.TIMEOUT: "failed",
    TaskState.CANCELLED: "cancelled",
}


def status(task: "Task") -> str:
    """Return the state of a task in Juju's words."""
    return _STATUSES[task.state]


def whole(task: "Task") -> dict[str, Any]:
    """Describe a task as `run` and `show-task` do. Empty fields are left out."""
    times = {"enqueued": task.created_at, "started": task.started_at, "completed": task.finished_at}
    found: dict[str, Any] = {
        "id": task.id,
        "log": [*task.log],
        "message": task.message,
        "results": task.result,
        "status": status(task),
        "timing": {name: moment.iso(time) for name, time in times.items() if time is not None},
        "unit": task.unit,
    }
    return {name: value for name, value in found.items() if value not in ("", [], {})}


def what(task: "Task") -> str:
    """Return the name of a task's action; for a command, the name that Juju has for commands."""
    return task.name or "juju-exec"


def return_code(task: "Task") -> int:
    """Return the exit code of a task's program; 0 if it is unknown."""
    found = task.result.get("return-code", 0)
    return found if isinstance(found, int) else 0


def has_succeeded(task: "Task") -> bool:
    """Tell whether a task has ended with success."""
    return task.state is TaskState.SUCCEEDED and return_code(task) == 0
