"""The kinds of events, and the intervals of rotations."""

from datetime import UTC, datetime

import pytest

from tinkwell.core.unit.kinds import ALIASES, EventKind, Rotation, TaskState
from tinkwell.core.unit.unit_event import UnitEvent


def test_a_name_has_that_of_the_endpoint_or_the_storage_before_it() -> None:
    joined = UnitEvent(kind=EventKind.RELATION_JOINED, relation=1, endpoint="db", unit="pg/0")
    assert joined.kind.is_relation
    assert joined.name == "db-relation-joined"
    attached = UnitEvent(kind=EventKind.STORAGE_ATTACHED, storage="my-data/3")
    assert attached.kind.is_storage
    assert attached.name == "my-data-storage-attached"
    assert UnitEvent(kind=EventKind.START).name == "start"
    rotated = UnitEvent(kind=EventKind.SECRET_ROTATE, secret="s1")
    assert rotated.kind.is_secret
    assert rotated.name == "secret-rotate"


def test_what_the_document_calls_otherwise_has_its_name_here() -> None:
    assert {name: kind.value for name, kind in ALIASES.items()} == {
        "storage-detached": "storage-detaching",
        "secret-expire": "secret-expired",
        "secret-removed": "secret-remove",
    }


@pytest.mark.parametrize(
    ("rotation", "expected"),
    [
        (Rotation.NEVER, None),
        (Rotation.HOURLY, datetime(2027, 12, 31, 13, 30, tzinfo=UTC)),
        (Rotation.DAILY, datetime(2028, 1, 1, 12, 30, tzinfo=UTC)),
        (Rotation.WEEKLY, datetime(2028, 1, 7, 12, 30, tzinfo=UTC)),
        (Rotation.MONTHLY, datetime(2028, 1, 31, 12, 30, tzinfo=UTC)),
        (Rotation.QUARTERLY, datetime(2028, 3, 31, 12, 30, tzinfo=UTC)),
        (Rotation.YEARLY, datetime(2028, 12, 31, 12, 30, tzinfo=UTC)),
    ],
)
def test_a_rotation_is_due_after_its_interval(rotation: Rotation, expected: datetime | None) -> None:
    assert rotation.next_after(datetime(2027, 12, 31, 12, 30, tzinfo=UTC)) == expected


def test_a_month_after_its_last_day_is_the_last_day_of_the_next_one() -> None:
    assert Rotation.MONTHLY.next_after(datetime(2027, 1, 31, tzinfo=UTC)) == datetime(2027, 2, 28, tzinfo=UTC)
    assert Rotation.YEARLY.next_after(datetime(2028, 2, 29, tzinfo=UTC)) == datetime(2029, 2, 28, tzinfo=UTC)


def test_a_task_that_waits_or_runs_has_not_ended() -> None:
    assert [state for state in TaskState if not state.is_final] == [TaskState.PENDING, TaskState.RUNNING]
