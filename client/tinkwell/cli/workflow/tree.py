"""The state of one workflow while a user follows it, and sentences about it.

It takes lists, events and output lines in any order, and keeps the newest version of each resource. It has no clock,
and reads nothing by itself.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from tinkwell.cli.event import attempt
from tinkwell.cli.event import line as event_line
from tinkwell.cli.shell import log_line
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.workflow.change import Reason

if TYPE_CHECKING:
    from datetime import datetime

    from tinkwell.client import Action, Event, LogLine, Workflow, WorkflowContext

    Resource: TypeAlias = Workflow | Action

TAIL_LINES = 5


class Tree:
    """A workflow, its actions, and the last output lines of each one's latest attempt.

    `actions` are in their order. `current` is the action whose turn it is, None when the workflow is over. `focus` is
    the action that matters most: the current one, or the one during which the workflow ended without success. They are
    computed once after each change, because each picture reads them many times.
    """

    def __init__(self, workflow_id: str) -> None:
        self.workflow_id = workflow_id
        self.workflow: Workflow | None = None
        self.is_deleted = False
        self.actions: tuple[Action, ...] = ()
        self.current: Action | None = None
        self.focus: Action | None = None
        self._holder = ("", "")
        self._actions: dict[str, Action] = {}
        self._tails: dict[str, tuple[int, log_line.Tail]] = {}

    @property
    def is_over(self) -> bool:
        """Whether the workflow is finished or deleted."""
        return self.is_deleted or (self.workflow is not None and self.workflow.state.is_final)

    @property
    def has_succeeded(self) -> bool:
        """Whether the workflow is finished and has succeeded."""
        return self.workflow is not None and self.workflow.state is State.SUCCEEDED

    def replace(self, workflow: "Workflow", actions: "Iterable[Action]") -> "list[Resource]":
        """Take a complete list. Returns what differs; the workflow is the last of it if it is over, else the first."""
        actions = sorted(actions, key=lambda action: action.index)
        changed: list[Resource] = [action for action in actions if self._actions.get(action.id) != action]
        if self.workflow != workflow:
            changed.insert(len(changed) if workflow.state.is_final else 0, workflow)
        self.workflow, self._actions = workflow, {action.id: action for action in actions}
        self._tails = {id_: tail for id_, tail in self._tails.items() if id_ in self._actions}
        self._settle()
        return changed

    def apply(self, event: "Event") -> "Resource | None":
        """Take an event; returns the resource as it is now, None if the event is older than the known state."""
        match event.resource_type:
            case ResourceType.WORKFLOW if event.resource_id == self.workflow_id:
                changed: Resource | None = self._apply_workflow(event)
            case ResourceType.ACTION if event.parent_id == self.workflow_id:
                changed = self._apply_action(event)
            case _:
                return None
        self._settle()
        return changed

    def hold(self, context: "WorkflowContext") -> "Action | None":
        """Take which other workflow this one waits for. Returns the waiting action if that has changed, else None."""
        holder = (context.waits_for_workflow, context.waits_for_worker)
        if self._holder == holder:
            return None
        self._holder = holder
        return self.current

    def add(self, line: "LogLine") -> None:
        """Take an output line; lines of an attempt come in order."""
        attempt, tail = self._tails.get(line.action_id, (0, log_line.Tail(TAIL_LINES)))
        if line.attempt > attempt:
            attempt, tail = self._tails[line.action_id] = line.attempt, log_line.Tail(TAIL_LINES)
        if line.attempt == attempt:
            tail.add(line)

    def tail(self, action: "Action") -> list[str]:
        """Return the last output lines of the action's current attempt."""
        attempt, tail = self._tails.get(action.id, (0, None))
        return tail.texts() if tail is not None and attempt == action.attempt else []

    def wait(self, action: "Action", at: "datetime | None") -> str:
        """Say what an action waits for at a moment; empty if it does not wait."""
        current = self.current
        if current is None or action.state is not State.PENDING:
            return ""
        if action.id != current.id:
            return f"waits for {title(current)}"
        if paused := attempt.pause(action, at):
            return paused
        if action.attempt:
            return f"waits for attempt {action.attempt + 1} by worker {action.worker_id}"
        if self.workflow is None or self.workflow.state is not State.PENDING:
            return f"waits for worker {action.worker_id}"
        workflow_id, worker_id = self._holder
        if workflow_id:
            return f"not started, waits for workflow {workflow_id}, which runs on worker {worker_id}"
        return f"not started, waits for worker {action.worker_id}"

    def moment(self, resource: "Resource") -> "datetime | None":
        """Return the time of the last change of a resource that came without an event."""
        ended_at = resource.finished_at if resource.state.is_final else None
        created_at = self.workflow.created_at if self.workflow else None
        return ended_at or resource.updated_at or resource.started_at or created_at

    def outcome(self) -> str:
        """Say in one sentence how a workflow that is over has ended, and why."""
        if self.workflow is None or not self.workflow.state.is_final:
            return f"workflow {self.workflow_id} was deleted before it was finished"
        ended = f"workflow {self.workflow_id} ended as {self.workflow.state}"
        reason = f": {reason}" if (reason := self._reason(self.workflow)) else ""
        return f"{ended}{reason}{_recovery(self.workflow.cause or {})}"

    def _settle(self) -> None:
        self.actions = tuple(sorted(self._actions.values(), key=lambda action: action.index))
        unfinished = (action for action in self.actions if action.state is not State.SUCCEEDED)
        self.current = None if self.is_over else next(unfinished, None)
        self.focus = self.current
        if self.workflow is not None and self.workflow.state.is_final:
            culprit = str((self.workflow.cause or {}).get("action_id", ""))
            ends = (State.FAILED, State.TIMEOUT)
            self.focus = self._actions.get(culprit) or next((a for a in self.actions if a.state in ends), None)

    def _apply_workflow(self, event: "Event") -> "Workflow | None":
        known = self.workflow
        if event.event_type is EventType.DELETED:
            self.is_deleted = True
            return known
        if known is not None and event.version <= known.version:
            return None
        from tinkwell import client as client_library  # gRPC costs start-up time, see main

        self.workflow = client_library.Workflow.from_json(event.data)
        return self.workflow

    def _apply_action(self, event: "Event") -> "Action | None":
        known = self._actions.get(event.resource_id)
        if event.event_type is EventType.DELETED:
            # The whole workflow is deleted, and the event of the workflow ends the following.
            return None
        if known is not None and event.version <= known.version:
            return None
        from tinkwell import client as client_library  # gRPC costs start-up time, see main

        changed = self._actions[event.resource_id] = client_library.Action.from_json(event.data)
        return changed

    def _reason(self, workflow: "Workflow") -> str:
        """Put the cause into words. A cause of an unknown kind, from a newer server, is shown as it came."""
        cause = workflow.cause or {}
        action = f"action {cause.get('task_name', '')}/{cause['action_name']}" if cause.get("action_name") else ""
        message = f": {cause['message']}" if cause.get("message") else ""
        match cause.get("reason"):
            case Reason.ACTION_FAILED if action:
                code = f" with exit code {cause['exit_code']}" if cause.get("exit_code") is not None else ""
                return f"{action} failed{code}{message}"
            case Reason.ACTION_TIMEOUT if action:
                return f"{action} ran longer than its timeout{message}"
            case Reason.GLOBAL_TIMEOUT:
                where = f", during {action}" if action else ""
                return f"it ran longer than its timeout of {workflow.global_timeout_seconds} s{where}{message}"
            case Reason.CANCELLED:
                where = f" during {action}" if action else ""
                return f"it was cancelled{where}{message}"
            case _:
                return event_line.format_cause({key: cause[key] for key in cause if key != "recovery"})


def _recovery(cause: Mapping[str, Any]) -> str:
    """Say what recovers a workflow that has ended, as the end of a sentence."""
    recovery = cause.get("recovery")
    if not isinstance(recovery, Mapping):
        return ""
    if recovery.get("error"):
        return f"; its recovery by template {recovery.get('template')} could not be started: {recovery['error']}"
    return f"; workflow {recovery.get('workflow_id')} recovers it, by template {recovery.get('template')}"


def title(action: "Action") -> str:
    """Name an action with its task."""
    return f"{action.task_name}/{action.name}"


def seconds_taken(resource: "Workflow | Action") -> float | None:
    """Return how long a workflow, or the last attempt at an action, took; None if it has not ended."""
    if resource.started_at is None or resource.finished_at is None:
        return None
    return max((resource.finished_at - resource.started_at).total_seconds(), 0.0)


def moment_of_answer(workflow: "Workflow", actions: "Iterable[Action]") -> "datetime | None":
    """Return the server's time when it listed these actions; None unless one of them runs and has a deadline.

    A running action's deadline is the end of its own limit or of the workflow's, whichever comes first.
    """
    for action in actions:
        if action.remaining_seconds is None:
            continue
        ends = [
            started_at + timedelta(seconds=limit)
            for started_at, limit in (
                (action.started_at, action.timeout_seconds),
                (workflow.started_at, workflow.global_timeout_seconds),
            )
            if started_at is not None and limit > 0
        ]
        if ends:
            return min(ends) - timedelta(seconds=action.remaining_seconds)
    return None
