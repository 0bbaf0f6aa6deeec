"""Ends of events that lock one row come one after the other; all others do not wait for each other."""

import gc

import pytest

from tinkwell.core.unit.kinds import EventKind, EventState
from tinkwell.server.unit.service.delivery.crowd import Crowd
from tinkwell.server.unit.store.agent.hold import FoundEvent, FoundUnit


def found(kind: EventKind, unit: str, *, relation: int = 0, namespace: str = "default") -> FoundEvent:
    about = FoundUnit(unit_id=unit, application_id="web", leads=False, lacks_leader=False)
    return FoundEvent(about, namespace, kind, relation, EventState.RUNNING, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            found(EventKind.RELATION_CREATED, "a", relation=3),
            found(EventKind.RELATION_CREATED, "b", relation=3),
        ),
        (found(EventKind.INSTALL, "a"), found(EventKind.INSTALL, "b")),
        (found(EventKind.START, "a"), found(EventKind.CONFIG_CHANGED, "a")),
    ],
)
def test_who_locks_one_row_waits(one: FoundEvent, other: FoundEvent) -> None:
    crowd = Crowd()
    held = crowd.turn(one)
    assert crowd.turn(other) is held


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (found(EventKind.RELATION_CREATED, "a", relation=3), found(EventKind.RELATION_CREATED, "b", relation=4)),
        (
            found(EventKind.RELATION_CREATED, "a", relation=3),
            found(EventKind.RELATION_CREATED, "b", relation=3, namespace="other"),
        ),
        (found(EventKind.RELATION_CHANGED, "a", relation=3), found(EventKind.RELATION_CHANGED, "b", relation=3)),
        (found(EventKind.CONFIG_CHANGED, "a"), found(EventKind.CONFIG_CHANGED, "b")),
    ],
)
def test_who_locks_other_rows_does_not(one: FoundEvent, other: FoundEvent) -> None:
    crowd = Crowd()
    held = crowd.turn(one)
    assert crowd.turn(other) is not held


def test_nothing_is_kept_of_calls_that_have_ended() -> None:
    crowd = Crowd()
    for number in range(100):
        crowd.turn(found(EventKind.START, str(number)))
    gc.collect()
    assert not crowd._locks
