"""Events as lines for people."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tinkwell.cli.event import line as event_line
from tinkwell.client import Event
from tinkwell.core.event.kinds import EventType, ResourceType

ID = "6f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"


def event(resource_type: ResourceType, event_type: EventType, data: dict[str, Any], **fields: Any) -> Event:
    return Event(
        id="e",
        revision=7,
        resource_type=resource_type,
        event_type=event_type,
        name=fields.pop("name", "x.y"),
        resource_id=fields.pop("resource_id", ID),
        created_at=datetime(2026, 11, 20, 12, 0, 0, 5000, UTC),
        data=data,
    )


def test_a_line_has_time_revision_type_resource_id_and_summary() -> None:
    workflow = {"template_name": "hello", "state": "RUNNING", "completed_actions": 1, "total_actions": 3}
    line = event_line.format_event(event(ResourceType.WORKFLOW, EventType.WORKFLOW_INPROGRESS, workflow))
    assert line == f"2026-11-20T12:00:00.005Z        7  WORKFLOW_INPROGRESS   WORKFLOW     {ID}  hello RUNNING 1/3"


def test_the_columns_of_all_lines_stand_below_each_other() -> None:
    lines = [
        event_line.format_event(event(resource_type, event_type, {"id": ID}, resource_id=resource_id))
        for resource_type in ResourceType
        for event_type in EventType
        for resource_id in (ID, "")
    ]
    columns = [(line[26:33].strip(), line[35:55].strip(), line[57:68].strip(), line[70:106].strip()) for line in lines]
    assert all(
        revision == "7" and kind in set(EventType) and resource in set(ResourceType) and resource_id in (ID, "-")
        for revision, kind, resource, resource_id in columns
    )


DHCP = {"mac": "52:54:00:10:00:03", "hostname": "sm01"}


@pytest.mark.parametrize(
    ("resource_type", "event_type", "data", "summary"),
    [
        (
            ResourceType.HARDWARE,
            EventType.HARDWARE_PHONE_HOME,
            {"network": {"interfaces": [{"dhcp": DHCP}, {}]}, "phone_home": {"up": True}},
            'sm01 52:54:00:10:00:03 {"up":true}',
        ),
        (ResourceType.HARDWARE, EventType.CREATED, {}, ""),
        (ResourceType.TEMPLATE, EventType.DELETED, {"name": "ubuntu"}, "ubuntu"),
        (
            ResourceType.WORKFLOW,
            EventType.WORKFLOW_TIMEOUT,
            {"template_name": "t", "state": "TIMEOUT", "cause": {"limit": "global_timeout", "seconds": 5}},
            "t TIMEOUT 0/0 limit=global_timeout seconds=5",
        ),
        (
            ResourceType.WORKFLOW,
            EventType.WORKFLOW_FAILED,
            {
                "template_name": "t",
                "state": "FAILED",
                "total_actions": 2,
                "cause": {
                    "reason": "ACTION_FAILED",
                    "message": "no space",
                    "task_name": "os",
                    "action_name": "disk",
                    "exit_code": 1,
                },
            },
            "t FAILED 0/2 ACTION_FAILED in os/disk, exit 1: no space",
        ),
        (
            ResourceType.ACTION,
            EventType.ACTION_FAILED,
            {"task_name": "os", "name": "disk", "attempt": 2, "exit_code": 1, "message": "no\nspace"},
            "os/disk attempt 2 exit 1 no\\nspace",
        ),
        (
            ResourceType.ACTION,
            EventType.ACTION_RETRYING,
            {
                "task_name": "os",
                "name": "disk",
                "attempt": 1,
                "retries": 3,
                "exit_code": 1,
                "message": "no space",
                "updated_at": "2026-11-20T12:00:00.000000Z",
                "retry_at": "2026-11-20T12:00:04.900000Z",
            },
            "os/disk attempt 1 of 4 exit 1 retries in 5s no space",
        ),
        (
            ResourceType.ACTION,
            EventType.ACTION_RETRYING,
            {"task_name": "os", "name": "disk", "attempt": 1, "retry_at": 7, "updated_at": "soon"},
            "os/disk",
        ),
        (
            ResourceType.WORKFLOW,
            EventType.WORKFLOW_FAILED,
            {"template_name": "t", "recovers": "w0", "cause": {"reason": "X", "recovery": {"workflow_id": "w2"}}},
            "t 0/0 recovers w0 X, recovered by w2",
        ),
        (
            ResourceType.WORKFLOW,
            EventType.WORKFLOW_FAILED,
            {"template_name": "t", "cause": {"reason": "X", "recovery": {"template": "r", "error": "no"}}},
            "t 0/0 X, not recovered by r: no",
        ),
        (
            ResourceType.APPLICATION,
            EventType.UPDATED,
            {
                "namespace": "default",
                "name": "web",
                "charm_name": "page",
                "life": "DYING",
                "leader": "web/0",
                "term": 2,
            },
            "default/web page DYING led by web/0 (term 2)",
        ),
        (
            ResourceType.UNIT,
            EventType.UNIT_STATUS_CHANGED,
            {"name": "web/0", "phase": "SETUP", "life": "ALIVE", "status": {"name": "waiting", "message": "for a\n"}},
            "web/0 SETUP waiting for a\\n",
        ),
        (
            ResourceType.UNIT_EVENT,
            EventType.UNIT_EVENT_FAILED,
            {
                "unit": "web/0",
                "kind": "relation-joined",
                "ordinal": 7,
                "attempt": 2,
                "relation": {"endpoint": "db", "application": "pg", "unit": "pg/0"},
                "message": "exit 1",
            },
            "web/0 #7 db-relation-joined (pg/0) attempt 2 exit 1",
        ),
        (
            ResourceType.UNIT_EVENT,
            EventType.UNIT_EVENT_STARTED,
            {"unit": "web/0", "kind": "storage-attached", "ordinal": 1, "relation": None, "storage": "data/0"},
            "web/0 #1 data-storage-attached (data/0)",
        ),
        (
            ResourceType.RELATION,
            EventType.RELATION_CHANGED,
            {
                "number": 3,
                "life": "ALIVE",
                "ends": [{"application": "pg", "endpoint": "db"}, {"application": "web", "endpoint": "db"}, 7],
                "owner": "pg/0",
                "keys": ["dsn", "user"],
            },
            "3 pg:db web:db pg/0 changed dsn, user",
        ),
        (ResourceType.STORAGE, EventType.UPDATED, {"name": "data/0", "unit": "", "attached": False}, "data/0 detached"),
        (
            ResourceType.STORAGE,
            EventType.UPDATED,
            {"name": "data/0", "unit": "web/0", "attached": True},
            "data/0 attached to web/0",
        ),
        (ResourceType.CHARM, EventType.CREATED, {"name": "web", "digest": "sha256:1"}, "web sha256:1"),
        (
            ResourceType.UNIT_EVENT,
            EventType.UNIT_EVENT_STARTED,
            {"unit": "web/0", "kind": "secret-rotate", "ordinal": 9, "secret": {"id": "c8rk", "revision": 0}},
            "web/0 #9 secret-rotate (c8rk)",
        ),
        (
            ResourceType.SECRET,
            EventType.UPDATED,
            {"name": "c8rk", "owner": "web/0", "label": "root", "latest": 3},
            "c8rk (root) of web/0 revision 3",
        ),
        (ResourceType.SECRET, EventType.CREATED, {"name": "c8rk", "owner": "", "latest": 1}, "c8rk revision 1"),
        (
            ResourceType.TASK,
            EventType.TASK_FAILED,
            {"unit": "web/0", "name": "backup", "state": "FAILED", "message": "exit 1"},
            "web/0 backup FAILED exit 1",
        ),
        (
            ResourceType.TASK,
            EventType.UPDATED,
            {"unit": "web/0", "name": "", "state": "RUNNING", "cancelled": True},
            "web/0 command RUNNING cancel requested",
        ),
        (
            ResourceType.RELEASE,
            EventType.RELEASE_DEPLOYED,
            {"namespace": "default", "name": "shop", "state": "DEPLOYED", "revision": 4},
            "default/shop DEPLOYED revision 4",
        ),
        (
            ResourceType.OPERATION,
            EventType.UPDATED,
            {
                "release_name": "shop",
                "kind": "UPGRADE",
                "state": "RUNNING",
                "total_nodes": 3,
                "cancel_requested": True,
            },
            "shop UPGRADE RUNNING 3 nodes cancel requested",
        ),
        (
            ResourceType.OPERATION,
            EventType.OPERATION_FAILED,
            {
                "release_name": "shop",
                "kind": "INSTALL",
                "state": "FAILED",
                "cancel_requested": True,
                "cause": {"reason": "NODE_FAILED", "path": "db", "message": "exited with code 3"},
            },
            "shop INSTALL FAILED NODE_FAILED db exited with code 3",
        ),
        (ResourceType.OPERATION, EventType.OPERATION_FAILED, {"cause": {"new": 1}}, '{"new":1}'),
        (
            ResourceType.NODE,
            EventType.NODE_FAILED,
            {"path": "db", "task": "INSTALL", "message": "no\nspace"},
            "db INSTALL no\\nspace",
        ),
        (
            ResourceType.STEP,
            EventType.STEP_FAILED,
            {"path": "db", "kind": "ACTION", "name": "grant", "attempt": 2, "exit_code": 3, "message": "no"},
            "db ACTION grant attempt 2 exit 3 no",
        ),
        (
            ResourceType.LIFECYCLE,
            EventType.LIFECYCLE_EMITTED,
            {"chart": "shop.db", "event": "ready", "handlers": [{}, {}], "outcome": "WARNED", "message": "no"},
            "shop.db ready 2 handlers WARNED no",
        ),
        (
            ResourceType.LIFECYCLE,
            EventType.LIFECYCLE_EMITTED,
            {"chart": "", "event": "install", "handlers": [], "outcome": "SUCCEEDED", "message": ""},
            "install",
        ),
        (ResourceType.CUSTOM, EventType.CUSTOM, {"a": 1}, 'x.y {"a":1}'),
        (ResourceType.CUSTOM, EventType.CUSTOM, {}, "x.y"),
    ],
)
def test_a_summary_tells_what_the_event_is_about(
    resource_type: ResourceType, event_type: EventType, data: dict[str, Any], summary: str
) -> None:
    assert event_line.summary(event(resource_type, event_type, data)) == summary


def test_a_long_summary_is_shortened() -> None:
    summary = event_line.summary(event(ResourceType.CUSTOM, EventType.CUSTOM, {"a": "x" * 1000}))
    assert len(summary) == event_line.MAX_SUMMARY_CHARACTERS
    assert summary.endswith("…")


@pytest.mark.parametrize("data", [{"network": None}, {"network": {"interfaces": [{"dhcp": None}]}}, {"network": []}])
def test_data_of_an_unexpected_form_does_not_end_a_watch(data: dict[str, Any]) -> None:
    assert event_line.summary(event(ResourceType.HARDWARE, EventType.UPDATED, data)) == ""
