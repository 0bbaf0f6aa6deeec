"""What events tell of workflows, and when that is enough."""

from typing import Any

import pytest

from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.workflow import decide
from tinkwell.provisioner.workflow import event_snapshot


class NoLease:
    def is_own(self, token: int) -> bool:
        raise AssertionError("what has just been created is held by nobody")


@pytest.fixture
def events() -> event_snapshot.Told:
    return event_snapshot.Told(NoLease())


def event(resource: ResourceType, event_type: EventType, data: dict[str, Any] | None = None, version: int = 1) -> Event:
    resource_id, parent_id = ("a", "w") if resource is ResourceType.ACTION else ("w", "")
    return Event("e", 1, resource, event_type, "any", resource_id, parent_id, version, data=data or {})


def birth(total: int = 1, **data: object) -> Event:
    content = {"id": "w", "total_actions": total, "state": "PENDING", "created_at": "2026-11-20T12:00:00.000000Z"}
    return event(ResourceType.WORKFLOW, EventType.CREATED, content | data)


def part(index: int = 0) -> Event:
    content = {"id": f"w-{index}", "workflow_id": "w", "index": index, "worker_id": "m", "on_failure": ["tell"]}
    return event(ResourceType.ACTION, EventType.CREATED, content)


def test_the_events_of_a_creation_are_a_look_once_all_are_here(events: event_snapshot.Told) -> None:
    assert [events.hear(each) for each in (birth(2), part(0))] == [False, False]
    assert events.take("w") is None
    assert events.hear(part(1))
    seen = events.take("w")
    assert seen is not None
    assert (seen.view.state, seen.view.is_blocked, seen.view.holders, seen.view.is_owed) == (
        State.PENDING,
        False,
        {},
        False,
    )
    assert [(action.id, action.worker_id, action.attempt) for action in seen.view.actions] == [
        ("w-0", "m", 0),
        ("w-1", "m", 0),
    ]
    assert seen.actions["w-1"].on_failure == ("tell",)
    assert seen.created_at.year == 2026
    (command,) = decide.decide(seen.view, serves={"m"}, running=())
    assert isinstance(command, decide.StartAction)
    assert events.take("w") is None


@pytest.mark.parametrize(
    "later",
    [
        event(ResourceType.WORKFLOW, EventType.WORKFLOW_STARTED, version=2),
        event(ResourceType.WORKFLOW, EventType.WORKFLOW_CANCELLED, version=2),
        event(ResourceType.ACTION, EventType.ACTION_STARTED, version=2),
        event(ResourceType.WORKFLOW, EventType.DELETED, version=2),
    ],
)
@pytest.mark.parametrize("total", [1, 2])
def test_whatever_comes_after_a_creation_makes_it_worth_nothing(
    events: event_snapshot.Told, later: Event, total: int
) -> None:
    for each in (birth(total), part()):
        events.hear(each)
    assert events.hear(later)
    assert events.take("w") is None


@pytest.mark.parametrize(
    "first",
    [
        birth(event_snapshot.MAX_ACTIONS + 1),
        birth(state="RUNNING"),
        birth(total_actions="many"),
        event(ResourceType.WORKFLOW, EventType.CREATED, birth().data, version=7),
    ],
)
def test_what_is_too_large_or_not_new_or_not_understood_is_looked_at(events: event_snapshot.Told, first: Event) -> None:
    assert events.hear(first)
    assert events.hear(part())
    assert events.take("w") is None


def test_an_action_that_is_not_understood_leads_to_a_look(events: event_snapshot.Told) -> None:
    events.hear(birth(2))
    assert events.hear(event(ResourceType.ACTION, EventType.CREATED, {"id": 7}))
    assert events.take("w") is None


def test_success_is_known_until_something_else_is_heard(events: event_snapshot.Told) -> None:
    succeeded = event(ResourceType.WORKFLOW, EventType.WORKFLOW_SUCCEEDED, version=5)
    assert events.hear(succeeded)
    seen = events.take("w")
    assert seen is not None
    assert seen.view == decide.WorkflowView.succeeded("w")
    events.hear(succeeded)
    assert events.hear(event(ResourceType.WORKFLOW, EventType.DELETED, version=6))
    assert events.take("w") is None


def test_where_events_were_missed_nothing_is_known(events: event_snapshot.Told) -> None:
    events.hear(birth(2))
    events.forget()
    assert events.hear(part())
    assert events.take("w") is None
