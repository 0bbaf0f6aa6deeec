"""An operation on a release to be followed, for the tests of what shows it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tinkwell.cli.release.follow import tree as release_tree
from tinkwell.client import Event, Node, Operation, Step, StepLogLine
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import NodeState, OperationKind, StepKind
from tinkwell.core.release.record import Options

ID = "6f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"
RELEASE = "7f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"
START = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So long after the start."""
    return START + timedelta(seconds=seconds)


def operation(state: State = State.RUNNING, **fields: Any) -> Operation:
    base: dict[str, Any] = {
        "release_id": RELEASE,
        "namespace": "default",
        "release_name": "shop",
        "kind": OperationKind.UPGRADE,
        "version": 1,
        "total_nodes": 3,
        "options": Options(),
        "created_at": START,
    }
    return Operation(id=ID, state=state, **(base | fields))


def node(ordinal: int, path: str, state: NodeState = NodeState.PENDING, *steps: Step, **fields: Any) -> Node:
    base: dict[str, Any] = {"operation_id": ID, "release_id": RELEASE, "batch": 1, "version": 1, "created_at": START}
    return Node(id=f"node-{path}", path=path, ordinal=ordinal, state=state, steps=steps, **(base | fields))


def step(path: str, ordinal: int, state: State, kind: StepKind = StepKind.ACTION, **fields: Any) -> Step:
    base: dict[str, Any] = {"operation_id": ID, "release_id": RELEASE, "attempt": 1, "version": 1, "created_at": START}
    return Step(id=f"step-{path}-{ordinal}", path=path, ordinal=ordinal, kind=kind, state=state, **(base | fields))


def line(path: str, text: str, *, number: int = 1, ordinal: int = 2, attempt: int = 1) -> StepLogLine:
    return StepLogLine(f"step-{path}-{ordinal}", attempt, number, text, path=path)


def event(resource: Operation | Node | Step, *, event_type: EventType = EventType.UPDATED) -> Event:
    """The event after which a resource is so."""
    kinds = {Operation: ResourceType.OPERATION, Node: ResourceType.NODE, Step: ResourceType.STEP}
    data = resource.to_json()
    for name in ("options", "after", "steps", "args"):
        data.pop(name, None)
    return Event(
        id="e",
        revision=1,
        resource_type=kinds[type(resource)],
        event_type=event_type,
        name="x.y",
        resource_id=resource.id,
        parent_id=RELEASE,
        version=resource.version,
        created_at=at(100),
        data=data,
    )


def tree(found: Operation, *nodes: Node) -> release_tree.Tree:
    result = release_tree.Tree(ID)
    result.replace(found, nodes)
    return result


def running() -> release_tree.Tree:
    """One node is as it should be, one is worked on, one waits for it."""
    return tree(
        operation(started_at=at(1)),
        node(0, "role", NodeState.READY, started_at=at(1), finished_at=at(1.44)),
        node(
            1,
            "db",
            NodeState.INSTALLING,
            step("db", 1, State.SUCCEEDED, StepKind.STATE, name="state"),
            step("db", 2, State.SUCCEEDED, name="create-database", started_at=at(2), finished_at=at(3)),
            step("db", 3, State.RUNNING, name="grant", attempt=2, started_at=at(3)),
            started_at=at(2),
        ),
        node(2, "site", batch=2, after=("role", "db")),
    )


def failed() -> release_tree.Tree:
    """One node has failed, and what waited for it was skipped."""
    message = "exited with code 3"
    grant = step("db", 2, State.FAILED, name="create-role", exit_code=3, message=message)
    return tree(
        operation(
            State.FAILED,
            failed_nodes=1,
            skipped_nodes=1,
            changed_nodes=1,
            finished_at=at(9.3),
            cause={"reason": "NODE_FAILED", "message": message, "path": "db"},
        ),
        node(0, "role", NodeState.READY, changed=True, started_at=at(1), finished_at=at(1.44)),
        node(1, "db", NodeState.FAILED, grant, message=message, started_at=at(2), finished_at=at(9)),
        node(2, "site", NodeState.SKIPPED, batch=2, after=("role", "db"), finished_at=at(9)),
    )
