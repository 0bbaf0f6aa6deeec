"""How workflows and their actions change: the rules for reports, cancellations and the passing of time.

    PENDING ───▶ RUNNING ───▶ SUCCEEDED
       │          │    ├────▶ FAILED
       │          │    ├────▶ TIMEOUT
       └──────────┼────┴────▶ CANCELLED
                  └─────────▶ PENDING     an action only: it waits for another attempt

`tinkwell.core.workflow.lifecycle` has these states as a table.

Actions run strictly in the order of their index. The start of the first action starts the workflow, and the success of
the last one ends it. An action that fails or times out, and has no attempt left, ends the workflow and cancels the
actions after it. A deadline that has passed ends the action in the same way; the time is the database's, so any caller
may ask whether it has passed. If the owner of a running action dies, the attempt is lost (`tinkwell.core.lease.lease`).

The rules are pure. They return steps, and the order of the steps is the order in which they must be written, because
each one becomes an event. A report that comes twice changes nothing; a late report never changes a final state.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import deadline, retry
from tinkwell.core.workflow.change import (
    Action,
    AdvanceWorkflow,
    Cause,
    Changes,
    EndAction,
    EndWorkflow,
    Reason,
    RetryAction,
    StartAction,
    StartWorkflow,
)

_REPORTABLE = (State.RUNNING, State.SUCCEEDED, State.FAILED, State.TIMEOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """The facts about a workflow that the rules need.

    `remaining_seconds` is the time left to its deadline, or its whole timeout before it starts; None without one.
    `on_timeout` and `on_failure` name the templates of the workflows that recover it; "" for none.
    """

    id: str
    state: State = State.PENDING
    remaining_seconds: float | None = None
    on_timeout: str = ""
    on_failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A worker's report about an action. Attempt 0 means the current attempt, or the next one for RUNNING."""

    action_id: str
    worker_id: str
    state: State
    attempt: int = 0
    message: str = ""
    exit_code: int | None = None


def locate(actions: Sequence[Action], *, action_id: str = "", task_name: str = "", action_name: str = "") -> Action:
    """Return the action that a report names, by its id or by the names of its task and of itself.

    Raises `errors.NotFound` if the workflow has no such action, `errors.InvalidField` if id and names disagree.
    """
    if not action_id and not (task_name and action_name):
        raise errors.InvalidField.of("action_id", "say which action: give action_id, or task_name and action_name")
    if not action_id:
        found = next((a for a in actions if (a.task_name, a.name) == (task_name, action_name)), None)
        if found is None:
            raise errors.NotFound("ACTION", f"{action_name} of task {task_name}")
        return found
    found = next((a for a in actions if a.id == action_id), None)
    if found is None:
        raise errors.NotFound("ACTION", action_id)
    for field, given, name in (("task_name", task_name, found.task_name), ("action_name", action_name, found.name)):
        if given not in ("", name):
            raise errors.InvalidField.of(field, f"does not match action_id: the {field} of that action is {name}")
    return found


def report(workflow: Workflow, actions: Sequence[Action], heard: Report) -> Changes:
    """Return what a report changes; `actions` are all actions of the workflow, in order.

    Raises `errors.InvalidField` for a state that no worker may report, `errors.NotFound` for an action of another
    workflow, `errors.WrongWorker`, and `errors.IllegalTransition` if the states do not allow the report.
    """
    if heard.state not in _REPORTABLE:
        raise errors.InvalidField.of("state", f"{heard.state} cannot be reported; give one of {', '.join(_REPORTABLE)}")
    action = locate(actions, action_id=heard.action_id)
    if heard.worker_id != action.worker_id:
        raise errors.WrongWorker(heard.worker_id, action.worker_id)
    if _is_repeated(action, heard):
        return Changes(attempt=action.attempt)
    _refuse_late(workflow, action, heard)
    if heard.state is State.RUNNING:
        return _start(workflow, actions, action, heard)
    return _end(workflow, actions, action, heard)


def cancel(workflow: Workflow, actions: Sequence[Action], reason: str) -> Changes:
    """Return what the cancellation of a workflow changes; nothing if it is cancelled already.

    Raises `errors.IllegalTransition` if the workflow has ended in another way.
    """
    if workflow.state is State.CANCELLED:
        return Changes()
    if workflow.state.is_final:
        raise errors.IllegalTransition(f"workflow {workflow.id}", f"it has ended as {workflow.state}")
    running = _running(actions)
    message = reason or "the workflow was cancelled"
    ended = [EndAction(a.id, State.CANCELLED, message) for a in actions if not a.state.is_final]
    cause = Cause(reason=Reason.CANCELLED, message=message, action=running)
    return Changes((*ended, EndWorkflow(State.CANCELLED, _count_succeeded(actions), cause)))


def expire(workflow: Workflow, actions: Sequence[Action]) -> Changes:
    """Return what the passing of time changes: it ends an attempt or workflow that is past its deadline, or lost."""
    left = remaining_seconds(workflow, actions)
    running = _running(actions)
    if left is None or left > 0:
        if running is None or running.reboots or not running.is_lost:
            return Changes()
        return lose(workflow, actions, running)
    if running is not None:
        message = "its deadline passed, and its worker did not say how it ended"
        heard = Report(action_id=running.id, worker_id=running.worker_id, state=State.TIMEOUT, message=message)
        return _end(workflow, actions, running, heard)
    waiting = next(a for a in actions if a.state is State.PENDING)
    message = f"the workflow's deadline passed while {waiting.title} waited for its worker"
    rest = [EndAction(a.id, State.CANCELLED, message) for a in actions if a.state is State.PENDING]
    cause = Cause(reason=Reason.GLOBAL_TIMEOUT, message=message)
    return Changes((*rest, _end_workflow(workflow, State.TIMEOUT, _count_succeeded(actions), cause)))


def retry_after(workflow: Workflow, action: Action) -> int | None:
    """Return the seconds until a running attempt is repeated if it ends without success now; None if it is not."""
    return retry.wait_seconds(
        attempt=action.attempt,
        retries=action.retries,
        first_delay_seconds=action.retry_delay_seconds,
        workflow_remaining_seconds=workflow.remaining_seconds,
    )


def lose(workflow: Workflow, actions: Sequence[Action], action: Action) -> Changes:
    """Return what changes if the end of the running attempt at an action can no longer be known."""
    message = "lost: the lease of its worker is over, so its result is not known"
    heard = Report(action_id=action.id, worker_id=action.worker_id, state=State.FAILED, message=message)
    return _end(workflow, actions, action, heard, reason=Reason.ACTION_LOST)


def remaining_seconds(workflow: Workflow, actions: Sequence[Action]) -> float | None:
    """Return the seconds until `expire` changes something, 0 or less if it does now; None if time never will."""
    if workflow.state is not State.RUNNING:
        return None
    running = _running(actions)
    if running is None:
        return workflow.remaining_seconds
    left = action_seconds(workflow, running)
    return None if left is None else left + running.grace_seconds


def action_seconds(workflow: Workflow, action: Action) -> float | None:
    """Return the seconds to a running action's deadline, its own or the workflow's; None without a deadline."""
    if action.state is not State.RUNNING:
        return None
    return deadline.soonest(action.remaining_seconds, workflow.remaining_seconds)


def around(action: Action, *, completed: int, total: int) -> list[Action]:
    """Return all actions of a workflow of which one is known, given how many actions have succeeded.

    Actions succeed in order. The other actions in the result only have the right states and number, which is enough to
    judge the start or the success of the known action. Raises `errors.IllegalTransition` if that action is not the next
    one.
    """
    if action.index != completed:
        raise _illegal(action, f"it is not due, because {completed} actions have succeeded")
    before = replace(action, id="", task_name="", name="", state=State.SUCCEEDED)
    after = replace(before, state=State.PENDING)
    return [*[before] * completed, action, *[after] * (total - completed - 1)]


def state_after(action: Action, changes: Changes) -> State:
    """Return the state of an action after the changes were written."""
    state = action.state
    for step in changes.steps:
        match step:
            case StartAction(action_id=action.id):
                state = State.RUNNING
            case EndAction(action_id=action.id):
                state = step.state
            case RetryAction(action_id=action.id):
                state = State.PENDING
            case _:
                pass
    return state


def _is_repeated(action: Action, heard: Report) -> bool:
    """Whether a report repeats what is known of the action's attempt.

    While the action waits for its next attempt, FAILED and TIMEOUT both count as known for the attempt before.
    """
    if heard.attempt not in (0, action.attempt):
        return False
    if action.state is State.PENDING:
        return action.attempt > 0 and heard.state in (State.FAILED, State.TIMEOUT)
    return heard.state is action.state


def _refuse_late(workflow: Workflow, action: Action, heard: Report) -> None:
    if action.state.is_final:
        raise _illegal(action, f"attempt {action.attempt} has ended as {action.state}; that is final")
    if workflow.state.is_final:
        raise _illegal(action, f"its workflow has ended as {workflow.state}")
    if action.state is State.PENDING and heard.state is not State.RUNNING:
        what = f"attempt {action.attempt} has ended, and the next one" if action.attempt else "it"
        raise _illegal(action, f"{what} has not been started, so it cannot become {heard.state}; report RUNNING first")
    due = action.attempt + (action.state is State.PENDING)
    if heard.attempt not in (0, due):
        raise _illegal(action, f"the report is about attempt {heard.attempt}, and attempt {due} is due")


def _start(workflow: Workflow, actions: Sequence[Action], action: Action, heard: Report) -> Changes:
    unfinished = next(a for a in actions if a.state is not State.SUCCEEDED)
    if unfinished is not action:
        raise _illegal(action, f"{unfinished.title} comes first, and is {unfinished.state}")
    attempt = action.attempt + 1
    left = deadline.starts(action.timeout_seconds, workflow_seconds=workflow.remaining_seconds)
    first = () if workflow.state is State.RUNNING else (StartWorkflow(),)
    return Changes((*first, StartAction(action.id, attempt, heard.message, left)), attempt)


def _end(
    workflow: Workflow, actions: Sequence[Action], action: Action, heard: Report, *, reason: Reason | None = None
) -> Changes:
    ended = EndAction(action.id, heard.state, heard.message, heard.exit_code)
    completed = _count_succeeded(actions)
    if heard.state is State.SUCCEEDED:
        completed += 1
        is_last = completed == len(actions)
        after = EndWorkflow(State.SUCCEEDED, completed) if is_last else AdvanceWorkflow(completed)
        return Changes((ended, after), action.attempt)
    if (delay := retry_after(workflow, action)) is not None:
        repeated = RetryAction(action.id, heard.state, heard.message, heard.exit_code, delay)
        return Changes((repeated,), action.attempt)
    cause = Cause(
        reason=reason or _reason(workflow, action, heard.state),
        message=heard.message,
        action=action,
        exit_code=heard.exit_code,
    )
    why = f"not run, because {action.title} ended as {heard.state}"
    rest = [EndAction(a.id, State.CANCELLED, why) for a in actions if a.state is State.PENDING]
    return Changes((ended, *rest, _end_workflow(workflow, heard.state, completed, cause)), action.attempt)


def _end_workflow(workflow: Workflow, state: State, completed: int, cause: Cause) -> EndWorkflow:
    recovery = workflow.on_timeout if state is State.TIMEOUT else workflow.on_failure
    return EndWorkflow(state, completed, cause, recovery)


def _reason(workflow: Workflow, action: Action, state: State) -> Reason:
    """Return which timeout ended an action: the one that passed first."""
    if state is State.FAILED:
        return Reason.ACTION_FAILED
    is_by_workflow = deadline.is_by_workflow(action.remaining_seconds, workflow_seconds=workflow.remaining_seconds)
    return Reason.GLOBAL_TIMEOUT if is_by_workflow else Reason.ACTION_TIMEOUT


def _running(actions: Sequence[Action]) -> Action | None:
    return next((a for a in actions if a.state is State.RUNNING), None)


def _count_succeeded(actions: Sequence[Action]) -> int:
    return sum(action.state is State.SUCCEEDED for action in actions)


def _illegal(action: Action, description: str) -> errors.IllegalTransition:
    return errors.IllegalTransition(f"action {action.id}", f"{action.title}: {description}")
