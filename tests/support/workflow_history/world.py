"""Whether the events of workflows and actions, replayed in the order of the log, are steps of the state machine."""

import dataclasses
from collections.abc import Iterator, Sequence

from support.history.record import Violation
from support.workflow_history.record import Event
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.workflow import lifecycle


@dataclasses.dataclass(slots=True)
class Action:
    """An action as its last event left it."""

    id: str
    index: int
    worker_id: str
    state: State
    attempt: int
    version: int
    is_forgotten: bool = False


@dataclasses.dataclass(slots=True)
class Workflow:
    """A workflow as its last event left it, with its actions by their ids; `blamed` is the action that ended it."""

    id: str
    state: State
    version: int
    total: int
    completed: int = 0
    blamed: str = ""
    is_forgotten: bool = False
    actions: dict[str, Action] = dataclasses.field(default_factory=dict)

    def in_order(self) -> list[Action]:
        """Return the actions in the order in which they are to run."""
        return sorted(self.actions.values(), key=lambda action: action.index)

    @property
    def succeeded(self) -> int:
        """How many actions have succeeded."""
        return sum(action.state is State.SUCCEEDED for action in self.actions.values())


class World:
    """All workflows of a run, made from their events. `violations` are what was wrong on the way."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.workflows: dict[str, Workflow] = {}
        self.violations: list[Violation] = []
        # Which workflow runs on a machine.
        self._holders: dict[str, str] = {}
        for event in events:
            take = self._take_workflow if event.resource_type is ResourceType.WORKFLOW else self._take_action
            for rule, text in take(event):
                who = f"workflow {event.parent_id or event.resource_id}"
                self.violations.append(Violation(rule, who, f"revision {event.revision}: {text}"))

    def _take_workflow(self, event: Event) -> Iterator[tuple[str, str]]:
        known = self.workflows.get(event.resource_id)
        if known is None:
            if _is_born(event):
                self.workflows[event.resource_id] = Workflow(event.resource_id, event.state, event.version, event.total)
            else:
                yield "L1", f"its first event is {_show(event)}"
            return
        yield from _check_version(event, known.version)
        known.version = event.version
        if event.event_type is EventType.DELETED or known.is_forgotten:
            yield from _check_forgotten(event, known)
            return
        if event.event_type is EventType.WORKFLOW_INPROGRESS:
            if known.state is not State.RUNNING or event.state is not State.RUNNING:
                yield "L1", f"{_show(event)} while it is {known.state}"
        elif not _is_allowed(lifecycle.WORKFLOW_RULES, known.state, event):
            yield "L1", f"{_show(event)} follows {known.state}"
        known.state, known.completed, known.blamed = event.state, event.completed, event.blamed
        if known.completed != known.succeeded:
            yield "L2", f"{known.completed} actions are counted as done, and {known.succeeded} have succeeded"
        if event.event_type is EventType.WORKFLOW_STARTED:
            yield from self._hold_machines(known)
        elif known.state.is_final:
            yield from _check_end(known)
            self._holders = {machine: holder for machine, holder in self._holders.items() if holder != known.id}

    def _hold_machines(self, workflow: Workflow) -> Iterator[tuple[str, str]]:
        for machine in {action.worker_id for action in workflow.actions.values()}:
            if machine in self._holders:
                yield "L3", f"starts on machine {machine}, on which workflow {self._holders[machine]} runs"
            self._holders[machine] = workflow.id

    def _take_action(self, event: Event) -> Iterator[tuple[str, str]]:
        workflow = self.workflows.get(event.parent_id)
        if workflow is None:
            yield "L1", f"{_show(event)} of an action whose workflow has no event yet"
            return
        known = workflow.actions.get(event.resource_id)
        if known is None:
            if not _is_born(event) or workflow.state is not State.PENDING:
                yield "L1", f"the first event of action {event.index} is {_show(event)}"
            workflow.actions[event.resource_id] = Action(
                event.resource_id, event.index, event.worker_id, event.state, event.attempt, event.version
            )
            return
        yield from _check_version(event, known.version)
        if event.event_type is EventType.DELETED or known.is_forgotten:
            known.version = event.version
            if not workflow.is_forgotten:
                yield "F1", f"{_show(event)} of action {known.index} while its workflow is there"
            yield from _check_forgotten(event, known)
            return
        if not _is_allowed(lifecycle.ACTION_RULES, known.state, event):
            yield "L1", f"{_show(event)} of action {known.index} follows {known.state}"
        yield from _check_attempt(event, known)
        if event.state is State.RUNNING:
            yield from _check_start(workflow, known)
        if workflow.state.is_final:
            yield "L1", f"{_show(event)} of action {known.index} after its workflow has ended as {workflow.state}"
        known.state, known.attempt, known.version = event.state, event.attempt, event.version


def _is_born(event: Event) -> bool:
    return event.event_type is EventType.CREATED and event.state is State.PENDING and event.version == 1


def _is_allowed(rules: Sequence[lifecycle.Rule], source: State, event: Event) -> bool:
    return any(
        rule.source is source and rule.target is event.state and rule.event_type is event.event_type and rule.movers
        for rule in rules
    )


def _check_version(event: Event, before: int) -> Iterator[tuple[str, str]]:
    if event.version != before + 1:
        yield "L1", f"{_show(event)} is version {event.version} and follows version {before}"


def _check_forgotten(event: Event, known: Workflow | Action) -> Iterator[tuple[str, str]]:
    if known.is_forgotten:
        yield "F1", f"{_show(event)} comes after it was deleted"
    elif not known.state.is_final or event.state is not known.state:
        yield "F1", f"{_show(event)} while it is {known.state}"
    known.is_forgotten = True


def _check_attempt(event: Event, known: Action) -> Iterator[tuple[str, str]]:
    expected = known.attempt + (event.state is State.RUNNING)
    if event.attempt != expected:
        yield "T1", f"{_show(event)} of action {known.index} is attempt {event.attempt}, and {expected} was due"


def _check_start(workflow: Workflow, started: Action) -> Iterator[tuple[str, str]]:
    if workflow.state is not State.RUNNING:
        yield "L2", f"action {started.index} starts while its workflow is {workflow.state}"
    for action in workflow.in_order():
        if action.index < started.index and action.state is not State.SUCCEEDED:
            yield "L2", f"action {started.index} starts while action {action.index} is {action.state}"


def _check_end(workflow: Workflow) -> Iterator[tuple[str, str]]:
    open_ones = [action.index for action in workflow.in_order() if not action.state.is_final]
    if open_ones:
        yield "L2", f"it ends as {workflow.state}, and its actions {open_ones} have not ended"
    if workflow.state is State.SUCCEEDED and workflow.succeeded != workflow.total:
        yield "L2", f"it ends as SUCCEEDED, and {workflow.succeeded} of {workflow.total} actions have succeeded"


def _show(event: Event) -> str:
    return f"{event.event_type} as {event.state}"
