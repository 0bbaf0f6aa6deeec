"""A workflow to be followed, for the tests of what shows it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.client import Action, Event, Workflow
from tinkwell.core.event.kinds import EventType, ResourceType, State

ID = "6f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"
START = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So long after the start."""
    return START + timedelta(seconds=seconds)


def workflow(state: State = State.PENDING, **fields: Any) -> Workflow:
    base: dict[str, Any] = {"template_name": "hello", "total_actions": 3, "version": 1, "created_at": START}
    return Workflow(id=ID, state=state, **(base | fields))


def action(index: int, state: State = State.PENDING, **fields: Any) -> Action:
    base: dict[str, Any] = {"task_name": "os", "name": "abcdefghij"[index % 10], "worker_id": "w1", "version": 1}
    return Action(id=f"a{index}", workflow_id=ID, index=index, state=state, **(base | fields))


def event(resource: Workflow | Action, *, event_type: EventType = EventType.UPDATED) -> Event:
    """The event after which a resource is so."""
    is_action = isinstance(resource, Action)
    return Event(
        id="e",
        revision=1,
        resource_type=ResourceType.ACTION if is_action else ResourceType.WORKFLOW,
        event_type=event_type,
        name="x.y",
        resource_id=resource.id,
        parent_id=ID if is_action else "",
        version=resource.version,
        created_at=at(100),
        data=resource.to_json(),
    )


def tree(found: Workflow, *actions: Action) -> workflow_tree.Tree:
    result = workflow_tree.Tree(ID)
    result.replace(found, actions)
    return result


def running() -> workflow_tree.Tree:
    """One action is done, one runs, one is to come."""
    return tree(
        workflow(State.RUNNING, completed_actions=1, started_at=at(1), global_timeout_seconds=600),
        action(0, State.SUCCEEDED, attempt=1, exit_code=0, started_at=at(1), finished_at=at(1.44)),
        action(1, State.RUNNING, attempt=2, started_at=at(2), timeout_seconds=90),
        action(2),
    )
