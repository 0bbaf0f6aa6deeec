"""An event of the log names the units that may have something due after it, and not everybody."""

import json
from typing import Any

import pytest

from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.server.unit.service.agent.touched import SELECTION, Touched

R, E = ResourceType, EventType


def _touched(resource_type: ResourceType, event_type: EventType, **data: Any) -> dict[str, set[Any]]:
    touched = Touched()
    touched.hear(resource_type, event_type, resource_id="id", parent_id="app", data=json.dumps(data))
    return {name: found for name in Touched.__slots__ if (found := getattr(touched, name))}


def _event(kind: str, **more: Any) -> dict[str, Any]:
    return {"unit_id": "u", "kind": kind, "relation": None, **more}


@pytest.mark.parametrize(
    ("resource_type", "event_type", "data", "expected"),
    [
        (R.APPLICATION, E.UPDATED, {}, {"applications": {"id"}}),
        (R.UNIT, E.CREATED, {"life": "ALIVE", "forced": False}, {"units": {"id"}}),
        (R.UNIT, E.UPDATED, {"life": "DYING", "forced": False}, {"units": {"id"}}),
        (R.UNIT, E.UPDATED, {"life": "DEAD", "forced": True}, {"gone": {"id"}, "related": {"app"}}),
        (R.UNIT, E.DELETED, {"life": "DEAD", "forced": False}, {"gone": {"id"}}),
        (R.STORAGE, E.CREATED, {"unit": "web/0"}, {"named": {("app", "web/0")}}),
        (R.STORAGE, E.UPDATED, {"unit": ""}, {}),
        (R.RELATION, E.CREATED, {}, {"relations": {("id", "")}}),
        (R.RELATION, E.RELATION_CHANGED, {"owner": "web/0"}, {"relations": {("id", "web")}}),
        (R.RELATION, E.RELATION_CHANGED, {"owner": "web"}, {"relations": {("id", "web")}}),
        (R.UNIT_EVENT, E.UNIT_EVENT_COMMITTED, _event("install"), {}),
        (
            R.UNIT_EVENT,
            E.UNIT_EVENT_COMMITTED,
            _event("relation-created", relation={"number": 3}),
            {"in_relations": {("app", 3)}},
        ),
        (R.UNIT_EVENT, E.UNIT_EVENT_COMMITTED, _event("relation-joined", relation={"number": 3}), {}),
        (
            R.UNIT_EVENT,
            E.UNIT_EVENT_SKIPPED,
            _event("relation-broken", relation={"number": 3}),
            {"units": {"u"}, "in_relations": {("app", 3)}},
        ),
        # It has failed, and somebody has it tried again now.
        (R.UNIT_EVENT, E.UPDATED, _event("install"), {"units": {"u"}}),
        (R.TASK, E.CREATED, {"unit_id": "u"}, {"units": {"u"}}),
        (R.TASK, E.UPDATED, {"unit_id": "u"}, {"units": {"u"}}),
        (R.TASK, E.TASK_TIMEOUT, {"unit_id": "u"}, {"units": {"u"}}),
        (R.SECRET, E.UPDATED, {}, {"secrets": {"id"}}),
        (R.WORKFLOW, E.WORKFLOW_FAILED, {}, {"workflows": {"id"}}),
        (R.WORKFLOW, E.UPDATED, {}, {}),
    ],
)
def test_an_event_names_whom_it_concerns(
    resource_type: ResourceType, event_type: EventType, data: dict[str, Any], expected: dict[str, set[Any]]
) -> None:
    assert _touched(resource_type, event_type, **data) == expected


def test_what_is_no_news_for_others_is_not_even_heard() -> None:
    assert E.UNIT_EVENT_STARTED not in SELECTION.event_types
    assert E.UNIT_STATUS_CHANGED not in SELECTION.event_types


def test_nobody_is_touched_at_first() -> None:
    touched = Touched()
    assert touched.is_empty
    touched.units.add("u")
    assert not touched.is_empty
