"""Decides what a provisioner does next about a workflow: a pure function from a view to commands.

Theory of operation. A caller reads a workflow, says which workers it serves and which runs it has, and obeys the
commands. It asks again after every change and from time to time. Asking twice with the same facts gives the same
commands. A command that was obeyed is not given again, because its run is then among the caller's runs.

    first action that has not succeeded      its worker is served here             otherwise
    PENDING                                  StartAction with the next attempt     Wait
    PENDING, and a machine is busy           Wait                                  Wait
    PENDING, its next attempt is not due     Wait until it is due                  Wait
    RUNNING, a run of it is watched here     Wait                                  Wait
    RUNNING, no run of it is watched here    AdoptAction                           Wait
    FAILED, TIMEOUT, CANCELLED, or none      nothing: the workflow is over         nothing

Several provisioners may serve a machine, each with a lease. A machine whose holder lives is left to that holder: Wait.
If the holder is dead, its action is adopted if the action's run is here, and is otherwise left to be judged as lost.
If a workflow has ended without a report of its owner, the owner releases the machines once no run of it is left here.

Before these commands come those that stop each run that should not go on. One kind of run of an ended action is kept:
that of an attempt whose end calls for a hook. Such a run marks that the hook is not done, and the command is RunHook.
The hook removes the run, so a hook without its attempt's run is done, and is stopped. A hook that would begin only
after its machine was released is stopped too, because another workflow may run there. A view may be older than a run,
but never newer, so a run that is ahead of the view is left alone.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.core.workflow.hook import Hook


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionView:
    """The caller's knowledge of an action. `remaining_seconds` is None if a running action has no deadline.

    `wait_seconds` is the time until a pending action's next attempt is due, None if it is due. `hook` is the hook that
    follows this end of the action, None for none.
    """

    id: str
    index: int
    worker_id: str
    state: State
    attempt: int = 0
    remaining_seconds: float | None = None
    wait_seconds: float | None = None
    hook: Hook | None = None
    reboots: bool = False


class Holder(StrEnum):
    """Whose lease holds a machine for a workflow. A machine that is held without a lease has no holder."""

    HERE = "here"
    ELSEWHERE = "elsewhere"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowView:
    """The caller's knowledge of a workflow; its actions are in any order.

    It is blocked while another workflow runs on its machines. `holders` maps its workers to the holders of their
    machines. It is owed while the server believes that a run of it is here, even if there is none.
    """

    id: str
    state: State
    actions: tuple[ActionView, ...]
    is_blocked: bool = False
    holders: Mapping[str, Holder] = field(default_factory=dict)
    is_owed: bool = False

    @classmethod
    def deleted(cls, workflow_id: str, *, is_owed: bool = False) -> "WorkflowView":
        """Build the view of a workflow that is deleted."""
        return cls(id=workflow_id, state=State.CANCELLED, actions=(), is_owed=is_owed)

    @classmethod
    def succeeded(cls, workflow_id: str) -> "WorkflowView":
        """Build the view of a workflow that has succeeded: so have its actions, and their owners have reported it."""
        return cls(id=workflow_id, state=State.SUCCEEDED, actions=())


class AllWorkers:
    """The set of every worker."""

    def __contains__(self, worker_id: object) -> bool:
        return True


ALL_WORKERS = AllWorkers()


class WaitReason(StrEnum):
    """Why no action is started."""

    NOT_SERVED = "the next action belongs to a worker that is not served here"
    RUNNING_HERE = "the action runs here"
    MACHINE_BUSY = "another workflow runs on a machine of this one"
    BACKOFF = "the next attempt is not due yet"
    STOPPING = "a run of this workflow is being stopped first"
    HELD_ELSEWHERE = "another living worker holds the machine for this workflow"
    ABANDONED = "the owner of the action is dead, and its run is not here"


@dataclass(frozen=True, slots=True)
class StartAction:
    """Report the action as RUNNING with this attempt, then run it."""

    action: ActionView
    key: RunKey


@dataclass(frozen=True, slots=True)
class AdoptAction:
    """The server says that the action runs: find its run and watch it to its end, or report that it is lost."""

    action: ActionView
    key: RunKey


@dataclass(frozen=True, slots=True)
class StopAction:
    """Kill this run and remove its remains."""

    key: RunKey
    reason: str


@dataclass(frozen=True, slots=True)
class RunHook:
    """The action has ended: kill its run if it still runs, then run its hook, which has this key, to its end."""

    action: ActionView
    key: RunKey


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing until the workflow changes, or until `seconds` have passed."""

    action: ActionView
    reason: WaitReason
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ReleaseMachines:
    """Tell the server that no run of the workflow, which is over, is here."""

    workflow_id: str


Command: TypeAlias = StartAction | AdoptAction | StopAction | RunHook | Wait | ReleaseMachines


def decide(
    view: WorkflowView,
    *,
    serves: Container[str],
    running: Iterable[RunKey],
    leftover: Iterable[RunKey] = (),
    others: Iterable[RunKey] = (),
) -> list[Command]:
    """Return the commands for a workflow, with those that stop runs first.

    `running` are the runs that the caller watches. `leftover` are runs that are here but not watched, such as those of
    a dead predecessor. `others` are also here, and are left alone, because another task watches them or removes them.
    Runs of other workflows among these are ignored.
    """
    watched = frozenset(key for key in running if key.owner == view.id)
    own = watched | {key for key in leftover if key.owner == view.id}
    here = own | {key for key in others if key.owner == view.id}
    stops = [
        StopAction(key, reason) for key in sorted(own) if (reason := _why_stop(view, key, here=own, watched=watched))
    ]
    action = _next_action(view)
    if action is None:
        is_released = view.state.is_final and view.is_owed and not here
        releases = [ReleaseMachines(view.id)] if is_released else []
        return [*stops, *_due_hooks(view, own, serves=serves, watched=watched), *releases]
    return [*stops, _proceed(view, action, serves=serves, watched=watched, here=here, is_stopping=bool(stops))]


def _proceed(
    view: WorkflowView,
    action: ActionView,
    *,
    serves: Container[str],
    watched: frozenset[RunKey],
    here: frozenset[RunKey],
    is_stopping: bool,
) -> Command:
    """Return the command for the action that is next."""
    if action.worker_id not in serves:
        return Wait(action, WaitReason.NOT_SERVED)
    if is_stopping:
        return Wait(action, WaitReason.STOPPING)
    if any(key.run == action.id for key in watched):
        return Wait(action, WaitReason.RUNNING_HERE)
    holder = view.holders.get(action.worker_id)
    if holder is Holder.ELSEWHERE:
        return Wait(action, WaitReason.HELD_ELSEWHERE)
    if action.state is State.RUNNING:
        key = _key(view, action, action.attempt)
        # A reboot may have removed the run of an action that reboots its machine: the action may have succeeded.
        is_lost = holder is Holder.DEAD and key not in here and not action.reboots
        return Wait(action, WaitReason.ABANDONED) if is_lost else AdoptAction(action, key)
    if action.wait_seconds is not None:
        return Wait(action, WaitReason.BACKOFF, action.wait_seconds)
    if view.is_blocked:
        return Wait(action, WaitReason.MACHINE_BUSY)
    return StartAction(action, _key(view, action, action.attempt + 1))


def _key(view: WorkflowView, action: ActionView, attempt: int, hook: str = "") -> RunKey:
    return RunKey(RunKind.WORKFLOW, view.id, action.id, attempt, hook)


def _next_action(view: WorkflowView) -> ActionView | None:
    """Return the first action that has not succeeded, or None if the workflow is over."""
    if view.state.is_final:
        return None
    unfinished = (a for a in sorted(view.actions, key=lambda a: a.index) if a.state is not State.SUCCEEDED)
    action = next(unfinished, None)
    return None if action is None or action.state.is_final else action


def _due_hooks(
    view: WorkflowView, here: frozenset[RunKey], *, serves: Container[str], watched: frozenset[RunKey]
) -> list[RunHook]:
    """Return the commands for hooks that are to run: those of attempts whose runs are still here."""
    due = ((a, _key(view, a, a.attempt, a.hook)) for a in view.actions if a.hook and a.worker_id in serves)
    return [
        RunHook(action, key)
        for action, key in due
        if key.main in here and key not in watched and not _is_let_go(view, action)
    ]


def _is_let_go(view: WorkflowView, action: ActionView) -> bool:
    """Return whether a workflow that is over has lost an action's machine because its holder was dead for too long."""
    return view.state.is_final and action.worker_id not in view.holders


def _is_for_hook(
    view: WorkflowView, action: ActionView, key: RunKey, *, here: frozenset[RunKey], watched: frozenset[RunKey]
) -> bool:
    """Return whether a run of an ended action is its hook, or marks that the hook is not done."""
    if action.hook is None or key.attempt != action.attempt or key.hook not in ("", action.hook):
        return False
    if replace(key, hook=action.hook) in watched:
        return True
    return key.main in here and not _is_let_go(view, action)


def _why_stop(view: WorkflowView, key: RunKey, *, here: frozenset[RunKey], watched: frozenset[RunKey]) -> str:
    """Return why a run must not go on; "" if it may."""
    action = next((a for a in view.actions if a.id == key.run), None)
    if action is None:
        succeeded = view.state is State.SUCCEEDED
        return "the workflow is SUCCEEDED" if succeeded else "the workflow no longer exists"
    if _is_for_hook(view, action, key, here=here, watched=watched):
        return ""
    if action.state.is_final:
        return f"the action is {action.state}"
    if view.state.is_final:
        return f"the workflow is {view.state}"
    # A PENDING action waits for attempt + 1; a run with a higher attempt is newer than the view.
    current = action.attempt if action.state is State.RUNNING else action.attempt + 1
    return f"attempt {current} has taken its place" if key.attempt < current else ""
