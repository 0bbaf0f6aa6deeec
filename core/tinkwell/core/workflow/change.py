"""The results of the workflow rules: the steps of a change, and why a workflow has ended (see `transition`)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from tinkwell.core.event.kinds import State
from tinkwell.core.value import document
from tinkwell.core.workflow import deadline, retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """The facts about an action that the rules need.

    `remaining_seconds` is the time left to a running action's own timeout, without regard to the workflow's; None
    without a timeout. After its deadline its worker has `grace_seconds` to report how it ended. An action that runs
    under an expired lease is lost, unless it reboots its machine: then only its deadline ends it.
    """

    id: str
    index: int
    task_name: str
    name: str
    worker_id: str
    state: State = State.PENDING
    attempt: int = 0
    on_timeout: tuple[str, ...] = ()
    on_failure: tuple[str, ...] = ()
    timeout_seconds: int = 0
    remaining_seconds: float | None = None
    grace_seconds: float = deadline.GRACE_SECONDS
    retries: int = 0
    retry_delay_seconds: int = retry.DEFAULT_DELAY_SECONDS
    reboots: bool = False
    is_lost: bool = False

    @property
    def title(self) -> str:
        """The action's name in messages."""
        return f"action {self.name} of task {self.task_name}"


class Reason(StrEnum):
    """Why a workflow ended without success."""

    ACTION_FAILED = "ACTION_FAILED"
    ACTION_TIMEOUT = "ACTION_TIMEOUT"
    ACTION_LOST = "ACTION_LOST"
    GLOBAL_TIMEOUT = "GLOBAL_TIMEOUT"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What recovers a workflow that has ended: a new workflow made from a template, or the reason why there is none."""

    template: str
    workflow_id: str = ""
    error: str = ""

    def as_document(self) -> document.JsonObject:
        """Return the JSON object that a cause carries."""
        if self.error:
            return {"template": self.template, "error": self.error}
        return {"template": self.template, "workflow_id": self.workflow_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a workflow ended without success, the action that was running (if any), and what recovers the workflow."""

    reason: Reason
    message: str
    action: Action | None = None
    exit_code: int | None = None
    recovery: Recovery | None = None

    def as_document(self) -> document.JsonObject:
        """Return the JSON object for events and answers; `next` describes the recovery."""
        built: document.JsonObject = {"reason": str(self.reason), "message": self.message}
        if self.action is not None:
            built |= {
                "action_id": self.action.id,
                "action_index": self.action.index,
                "task_name": self.action.task_name,
                "action_name": self.action.name,
                "worker_id": self.action.worker_id,
            }
            built |= _next(self.reason, self.action)
        if self.exit_code is not None:
            built["exit_code"] = self.exit_code
        if self.recovery is not None:
            built["recovery"] = self.recovery.as_document()
        return built


@dataclass(frozen=True, slots=True)
class StartWorkflow:
    """The workflow becomes RUNNING, and its deadline is set."""


@dataclass(frozen=True, slots=True)
class StartAction:
    """An attempt at an action begins; its deadline is `deadline_seconds` away, None without one."""

    action_id: str
    attempt: int
    message: str
    deadline_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class EndAction:
    """An action reaches a final state."""

    action_id: str
    state: State
    message: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class RetryAction:
    """An attempt ends without success, as `state`; the next attempt is due in `delay_seconds`."""

    action_id: str
    state: State
    message: str
    exit_code: int | None
    delay_seconds: int


@dataclass(frozen=True, slots=True)
class AdvanceWorkflow:
    """An action has succeeded, and at least one action remains."""

    completed_actions: int


@dataclass(frozen=True, slots=True)
class EndWorkflow:
    """The workflow reaches a final state; without success it has a cause.

    `recovery_template` names the template of the workflow that is to recover it; "" for none.
    """

    state: State
    completed_actions: int
    cause: Cause | None = None
    recovery_template: str = ""


Step: TypeAlias = StartWorkflow | StartAction | EndAction | RetryAction | AdvanceWorkflow | EndWorkflow


@dataclass(frozen=True, slots=True)
class Changes:
    """Steps in the order in which they must be written; empty if nothing changes.

    `attempt` is the attempt that the report was about.
    """

    steps: tuple[Step, ...] = ()
    attempt: int = 0


def _next(reason: Reason, action: Action) -> document.JsonObject:
    match reason:
        case Reason.ACTION_FAILED | Reason.ACTION_LOST:
            name, command = "on_failure", action.on_failure
        case Reason.ACTION_TIMEOUT | Reason.GLOBAL_TIMEOUT:
            name, command = "on_timeout", action.on_timeout
        case Reason.CANCELLED:
            return {}
    return {"next": {name: list(command)}} if command else {}
