"""Objects and their JSON shape, which is the same in events and on the command line."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.client import errors
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.template.model import Template
from tinkwell.client.testing import encode
from tinkwell.client.value.change import Change
from tinkwell.client.watch import message as watch_message
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow import message as workflow_message
from tinkwell.client.workflow.model import Action, LogLine, LogStream, Reported, Workflow
from tinkwell.core.event.kinds import EventType, ResourceType, State

NOON = datetime(2026, 11, 20, 12, 0, 0, 1234, tzinfo=UTC)
NOON_TEXT = "2026-11-20T12:00:00.001234Z"

RECOVERY = {
    "id": "w2",
    "template_id": "",
    "template_name": "",
    "hardware": {},
    "state": "PENDING",
    "version": 0,
    "total_actions": 0,
    "completed_actions": 0,
    "global_timeout_seconds": 0,
    "on_timeout": "t",
    "on_failure": "f",
    "recovers": "w1",
}
SHAPES: list[tuple[Any, dict[str, Any]]] = [
    (
        Hardware(
            "m1", 3, {"a": 1}, {"interfaces": [{"dhcp": {"mac": "52:54:00:00:00:01"}}]}, NOON, NOON, deleted_at=None
        ),
        {
            "id": "m1",
            "version": 3,
            "metadata": {"a": 1},
            "network": {"interfaces": [{"dhcp": {"mac": "52:54:00:00:00:01"}}]},
            "created_at": NOON_TEXT,
            "updated_at": NOON_TEXT,
        },
    ),
    (
        Template("t1", "ubuntu", 2, "version: '0.1'", NOON, NOON, deleted_at=NOON),
        {
            "id": "t1",
            "name": "ubuntu",
            "version": 2,
            "data": "version: '0.1'",
            "created_at": NOON_TEXT,
            "updated_at": NOON_TEXT,
            "deleted_at": NOON_TEXT,
        },
    ),
    (
        Workflow(
            "w1",
            "t1",
            "ubuntu",
            {"device_1": "52:54:00:00:00:01"},
            State.TIMEOUT,
            version=4,
            total_actions=3,
            completed_actions=1,
            global_timeout_seconds=60,
            cause={"reason": "ACTION_TIMEOUT"},
            created_at=NOON,
            updated_at=NOON,
            started_at=NOON,
        ),
        {
            "id": "w1",
            "template_id": "t1",
            "template_name": "ubuntu",
            "hardware": {"device_1": "52:54:00:00:00:01"},
            "state": "TIMEOUT",
            "version": 4,
            "total_actions": 3,
            "completed_actions": 1,
            "global_timeout_seconds": 60,
            "cause": {"reason": "ACTION_TIMEOUT"},
            "created_at": NOON_TEXT,
            "updated_at": NOON_TEXT,
            "started_at": NOON_TEXT,
        },
    ),
    (
        Action("a1", "w1", command=("dd", "if=x"), environment=("A=b",), exit_code=0, remaining_seconds=1.5),
        {
            "id": "a1",
            "workflow_id": "w1",
            "index": 0,
            "task_name": "",
            "name": "",
            "image": "",
            "timeout_seconds": 0,
            "command": ["dd", "if=x"],
            "on_timeout": [],
            "on_failure": [],
            "worker_id": "",
            "volumes": [],
            "environment": ["A=b"],
            "pid": "",
            "state": "PENDING",
            "attempt": 0,
            "version": 0,
            "message": "",
            "exit_code": 0,
            "retries": 0,
            "retry_delay_seconds": 0,
            "reboots": False,
        },
    ),
    (Workflow("w2", on_timeout="t", on_failure="f", recovers="w1"), RECOVERY),
    (
        Event("e1", 9, ResourceType.CUSTOM, EventType.CUSTOM, "rack.door_opened", created_at=NOON, actor="ci"),
        {
            "id": "e1",
            "revision": 9,
            "resource_type": "CUSTOM",
            "event_type": "CUSTOM",
            "name": "rack.door_opened",
            "version": 0,
            "created_at": NOON_TEXT,
            "actor": "ci",
            "data": {},
        },
    ),
    (Change(7), {"revision": 7}),
    (Change(7, 2), {"revision": 7, "version": 2}),
    (Reported(0, 2, 1.5), {"revision": 0, "attempt": 2, "remaining_seconds": 1.5, "data_version": 0}),
    (
        LogLine("a1", 1, 2, "text", LogStream.STDERR),
        {
            "action_id": "a1",
            "attempt": 1,
            "number": 2,
            "text": "text",
            "stream": "STDERR",
            "task_name": "",
            "action_name": "",
            "is_open": False,
        },
    ),
]


@pytest.mark.parametrize(("item", "shape"), SHAPES, ids=lambda value: type(value).__name__)
def test_an_object_has_one_json_shape_and_comes_back_from_it(item: Any, shape: dict[str, Any]) -> None:
    assert item.to_json() == shape
    back = type(item).from_json(json.loads(json.dumps(shape)))
    assert back == (dataclasses.replace(item, remaining_seconds=None) if isinstance(item, Action) else item)


def test_times_are_utc_with_six_decimals_wherever_they_came_from() -> None:
    berlin = timezone(timedelta(hours=1))
    template = Template("t1", created_at=datetime(2026, 1, 1, 1, 0, tzinfo=berlin))
    assert template.to_json()["created_at"] == "2026-01-01T00:00:00.000000Z"
    without_zone = Template.from_json({"id": "t1", "created_at": "2026-01-01T00:00:00"})
    assert without_zone == template


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (Hardware, {}, "id: is missing"),
        (Hardware, [], "a Hardware must be a JSON object, not list"),
        (Hardware, {"id": 5}, "id: must be str, not int"),
        (Hardware, {"id": "m1", "version": True}, "version: must be int, not bool"),
        (Hardware, {"id": "m1", "metadata": "text"}, "metadata: must be dict, not str"),
        (Workflow, {"id": "w1", "state": "TIRED"}, "state: 'TIRED' is not a valid State"),
        (Workflow, {"id": "w1", "created_at": "noon"}, "created_at: Invalid isoformat string: 'noon'"),
        (Action, {"id": "a1", "command": "dd"}, "command: must be list, not str"),
        (Action, {"id": "a1", "command": [1]}, "command: must be str, not int"),
        (Reported, {"revision": 1, "attempt": 1, "remaining_seconds": "1"}, "must be number, not str"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(kind: Any, data: Any, message: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        kind.from_json(data)
    assert message in str(caught.value)


def test_keys_of_a_newer_server_are_ignored() -> None:
    assert Template.from_json({"id": "t1", "colour": "red"}) == Template("t1")


def test_an_event_gives_its_resource_as_an_object() -> None:
    def event(kind: ResourceType) -> Event:
        return Event("e1", 1, kind, EventType.UPDATED, "a.b", data={"id": "r1"})

    assert event(ResourceType.HARDWARE).resource == Hardware("r1")
    assert event(ResourceType.TEMPLATE).resource == Template("r1")
    assert event(ResourceType.WORKFLOW).resource == Workflow("r1")
    assert event(ResourceType.ACTION).resource == Action("r1")
    assert event(ResourceType.CUSTOM).resource is None


def test_an_event_of_a_type_that_this_release_does_not_know_still_arrives() -> None:
    from tinkwell.api.v1 import event_service_pb2 as pb

    future = pb.Event(id="e1", revision=1, resource_type=99, event_type=99, name="release.upgraded")  # type: ignore[arg-type]
    event = watch_message.event(future)
    assert (event.resource_type, event.event_type, event.name) == (
        ResourceType.CUSTOM,
        EventType.UPDATED,
        "release.upgraded",
    )


def test_models_cannot_be_changed_by_accident() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Template("t1").name = "other"  # type: ignore[misc]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
times = st.none() | st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC))
json_objects = st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts, max_size=4)


@given(
    st.builds(
        Workflow,
        id=texts,
        template_id=texts,
        template_name=texts,
        hardware=json_objects,
        state=st.sampled_from(State),
        version=st.integers(0, 2**63 - 1),
        total_actions=st.integers(0, 2**31),
        completed_actions=st.integers(0, 2**31),
        global_timeout_seconds=st.integers(0, 2**31),
        cause=st.none() | json_objects.filter(bool),
        created_at=times,
        updated_at=times,
        started_at=times,
        finished_at=times,
        data=st.none() | texts.filter(bool),
    )
)
def test_a_workflow_survives_the_wire_and_its_json(workflow: Workflow) -> None:
    from tinkwell.api.v1 import workflow_service_pb2 as pb

    assert workflow_message.workflow(encode.fill(pb.Workflow(), workflow)) == workflow
    assert Workflow.from_json(json.loads(json.dumps(workflow.to_json()))) == workflow
