"""The state of releases, operations, nodes and steps as their events tell it, replayed in the order of the log.

What a plan inserts makes no event, so whoever replays needs the nodes of each plan beside the events.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from support.history.record import Violation
from support.release_history.record import Event, Node
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release import lifecycle
from tinkwell.core.release.kinds import NodeState, NodeTask, ReleaseState, StepKind
from tinkwell.core.release.walk import BEGUN, DONE

_Finding = tuple[str, str]


@dataclasses.dataclass(slots=True)
class Thing:
    """A release, an operation, a node or a step as its last event left it. Steps have an `attempt`."""

    state: Any
    version: int
    attempt: int = 0


@dataclasses.dataclass(slots=True)
class Operation:
    """An operation as its last event left it, with its nodes by path, and its steps with effects by path and id."""

    id: str
    release_id: str
    thing: Thing
    plan: Mapping[str, Node]
    nodes: dict[str, Thing]
    steps: dict[str, dict[str, Thing]] = dataclasses.field(default_factory=dict)
    reason: str = ""
    culprit: str = ""

    @property
    def state(self) -> State:
        """Its own state."""
        return State(self.thing.state)


class World:
    """All releases of a run, made from their events and the nodes of their plans.

    `violations` are what was wrong on the way.
    """

    def __init__(self, events: Sequence[Event], nodes: Sequence[Node]) -> None:
        self.releases: dict[str, Thing] = {}
        self.operations: dict[str, Operation] = {}
        self.violations: list[Violation] = []
        self._planned: dict[str, dict[str, Node]] = {}
        for node in nodes:
            self._planned.setdefault(node.operation_id, {})[node.path] = node
        take = {
            ResourceType.RELEASE: self._take_release,
            ResourceType.OPERATION: self._take_operation,
            ResourceType.NODE: self._take_node,
            ResourceType.STEP: self._take_step,
        }
        for event in events:
            for rule, text in take[event.resource_type](event):
                self.violations.append(
                    Violation(rule, f"release {event.release_id}", f"revision {event.revision}: {text}")
                )

    def node_states(self) -> dict[tuple[str, str], NodeState]:
        """Return the states of all nodes by operation and path."""
        return {
            (operation.id, path): node.state
            for operation in self.operations.values()
            for path, node in operation.nodes.items()
        }

    def _take_release(self, event: Event) -> Iterator[_Finding]:
        state = ReleaseState(event.state)
        known = self.releases.get(event.resource_id)
        if known is None:
            if event.event_type is not EventType.CREATED or state is not ReleaseState.PENDING_INSTALL:
                yield "L1", f"the first event of the release is {_show(event)}"
            self.releases[event.resource_id] = Thing(state, event.version)
            return
        yield from _check_version(event, known)
        if known.state is state:
            allowed = [EventType.UPDATED]
            if state is ReleaseState.UNINSTALLED:
                allowed = [EventType.DELETED]
        else:
            allowed = _release_events(known.state, state)
        yield from _check_move(event, lifecycle.RELEASE, known.state, state, allowed)
        operation = self.operations.get(event.operation_id)
        is_success = event.event_type in (EventType.RELEASE_DEPLOYED, EventType.RELEASE_UNINSTALLED)
        if is_success and (operation is None or operation.state is not State.SUCCEEDED):
            yield "L3", f"{_show(event)} without the success of operation {event.operation_id}"
        known.state, known.version = state, event.version

    def _take_operation(self, event: Event) -> Iterator[_Finding]:
        state = State(event.state)
        known = self.operations.get(event.resource_id)
        if known is None:
            if event.event_type is not EventType.CREATED or state is not State.PENDING:
                yield "L1", f"the first event of operation {event.resource_id} is {_show(event)}"
            for other in self.operations.values():
                if other.release_id == event.release_id and not other.state.is_final:
                    yield "L3", f"operation {event.resource_id} begins beside operation {other.id}"
            plan = self._planned.get(event.resource_id, {})
            nodes = {path: Thing(NodeState.PENDING, 0) for path in plan}
            thing = Thing(state, event.version)
            self.operations[event.resource_id] = Operation(event.resource_id, event.release_id, thing, plan, nodes)
            return
        yield from _check_version(event, known.thing)
        allowed = [EventType.UPDATED]
        if known.state is not state:
            allowed = [EventType.OPERATION_STARTED if state is State.RUNNING else EventType[f"OPERATION_{event.state}"]]
        yield from _check_move(event, lifecycle.OPERATION, known.state, state, allowed)
        known.thing.state, known.thing.version = state, event.version
        known.reason, known.culprit = event.reason, event.culprit
        if state.is_final:
            yield from _check_end(known)

    def _take_node(self, event: Event) -> Iterator[_Finding]:
        operation = self.operations.get(event.operation_id)
        if operation is None or event.path not in operation.nodes:
            yield "L1", f"{_show(event)} of {event.path}, which is in no plan"
            return
        if operation.state is not State.RUNNING:
            # What a cancelled or late operation skips and ends is told before its own end.
            yield "L3", f"{_show(event)} of {event.path} while its operation is {operation.state}"
        state, known = NodeState(event.state), operation.nodes[event.path]
        yield from _check_version(event, known)
        allowed = [EventType.UPDATED]
        if known.state is not state:
            allowed = [EventType.NODE_STARTED if state in BEGUN else EventType[f"NODE_{event.state}"]]
        yield from _check_move(event, lifecycle.NODE, known.state, state, allowed)
        if state in BEGUN:
            yield from _check_turn(operation, event.path)
        running = [id_ for id_, step in operation.steps.get(event.path, {}).items() if step.state is State.RUNNING]
        if state.is_final and running:
            yield "L4", f"{_show(event)} of {event.path} while its step {running[0]} runs"
        known.state, known.version = state, event.version

    def _take_step(self, event: Event) -> Iterator[_Finding]:
        operation = self.operations.get(event.operation_id)
        if operation is None or event.path not in operation.nodes:
            yield "L1", f"{_show(event)} of a step of {event.path}, which is in no plan"
            return
        if operation.state is not State.RUNNING:
            yield "L3", f"{_show(event)} of a step of {event.path} while its operation is {operation.state}"
        steps = operation.steps.setdefault(event.path, {})
        state, known = State(event.state), steps.setdefault(event.resource_id, Thing(State.PENDING, 0))
        yield from _check_version(event, known)
        allowed = [EventType.UPDATED]
        if known.state is not state:
            names = {State.RUNNING: EventType.STEP_STARTED, State.PENDING: EventType.STEP_RETRYING}
            allowed = [names.get(state) or EventType[f"STEP_{event.state}"]]
        yield from _check_move(event, lifecycle.STEP, known.state, state, allowed)
        due = known.attempt + (state is State.RUNNING)
        if event.attempt != due:
            yield "T1", f"{_show(event)} of {event.path} is attempt {event.attempt}, and {due} was due"
        if state is State.RUNNING:
            yield from _check_start(operation, event, steps)
        known.state, known.version, known.attempt = state, event.version, event.attempt


def _release_events(source: ReleaseState, target: ReleaseState) -> list[EventType]:
    """Return which events a move of a release may be; UPDATED also where an operation ended before it had a plan."""
    match target:
        case ReleaseState.UNINSTALLED:
            return [EventType.RELEASE_UNINSTALLED]
        case ReleaseState.DEPLOYED:
            return [EventType.RELEASE_DEPLOYED, EventType.UPDATED]
        case ReleaseState.FAILED if source is ReleaseState.PENDING_INSTALL:
            return [EventType.RELEASE_FAILED]
        case ReleaseState.FAILED:
            return [EventType.RELEASE_FAILED, EventType.UPDATED]
        case _:
            return [EventType.UPDATED]


def _check_version(event: Event, known: Thing) -> Iterator[_Finding]:
    if event.version <= known.version:
        yield "L2", f"{_show(event)} is version {event.version} and follows version {known.version}"


def _check_move(
    event: Event, table: Mapping[Any, frozenset[Any]], source: Any, target: Any, allowed: Sequence[EventType]
) -> Iterator[_Finding]:
    is_final = not table[source]
    is_told_last = event.event_type is EventType.DELETED
    if not lifecycle.may_follow(table, source, target) or (source is target and is_final and not is_told_last):
        yield "L1", f"{_show(event)} of {event.path or event.resource_id} follows {source}"
    elif event.event_type not in allowed:
        yield "L1", f"{_show(event)} of {event.path or event.resource_id} follows {source}, where {allowed[0]} was due"


def _check_turn(operation: Operation, path: str) -> Iterator[_Finding]:
    """A node begins once all that the plan puts before it is done, and a removal once everything is installed."""
    node = operation.plan[path]
    before = set(node.after)
    if node.task is NodeTask.REMOVE:
        before |= {other.path for other in operation.plan.values() if other.task is NodeTask.INSTALL}
    for other in sorted(before):
        if operation.nodes[other].state not in DONE:
            yield "L4", f"{path} begins while {other} is {operation.nodes[other].state}"


def _check_start(operation: Operation, event: Event, steps: Mapping[str, Thing]) -> Iterator[_Finding]:
    is_removed = event.kind is not StepKind.ACTION or operation.plan[event.path].task is NodeTask.REMOVE
    due = NodeState.REMOVING if is_removed else NodeState.INSTALLING
    if operation.nodes[event.path].state is not due:
        yield "L4", f"a step of {event.path} starts while that is {operation.nodes[event.path].state}"
    others = [id_ for id_, step in steps.items() if id_ != event.resource_id and step.state is State.RUNNING]
    if others:
        yield "L4", f"step {event.resource_id} of {event.path} starts while its step {others[0]} runs"


def _check_end(operation: Operation) -> Iterator[_Finding]:
    states = {path: node.state for path, node in operation.nodes.items()}
    if operation.state is State.SUCCEEDED:
        lacking = sorted(path for path, state in states.items() if state not in DONE)
    else:
        lacking = sorted(path for path, state in states.items() if not state.is_final)
    if lacking:
        yield "L3", f"operation {operation.id} ends as {operation.state}, and {lacking[0]} is {states[lacking[0]]}"


def _show(event: Event) -> str:
    return f"{event.event_type} as {event.state}"
