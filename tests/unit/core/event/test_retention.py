"""What is added, closed and forgotten, for every state that the log may be found in."""

import dataclasses
import datetime

from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.event import retention
from tinkwell.core.event.retention import Partition, Policy, Shelf

NOW = datetime.datetime(2026, 1, 10, tzinfo=datetime.UTC)
POLICY = Policy(age=datetime.timedelta(hours=24), count=80, width=100, ready=300)


FIRST = "events_000000000000"


def ago(hours: float) -> datetime.datetime:
    return NOW - datetime.timedelta(hours=hours)


def partition(number: int, oldest: float | None = None, newest: float | None = None) -> Partition:
    """The partition of that number; its events were drawn that many hours ago."""
    return Partition(
        f"events_{number * 100:012}",
        number * 100,
        number * 100 + 100,
        ago(oldest) if oldest is not None else None,
        ago(newest) if newest is not None else None,
    )


def shelf(*partitions: Partition, last_drawn: int, kept_from: int = 0, closing_from: int = 0) -> Shelf:
    return Shelf(partitions, last_drawn, 1, kept_from, closing_from, NOW)


def names(partitions: object) -> list[str]:
    assert isinstance(partitions, list)
    return [found.name for found in partitions]


def test_partitions_are_added_until_enough_revisions_are_ready() -> None:
    plan = retention.decide(shelf(partition(0), partition(1), last_drawn=0), POLICY)
    assert [(found.first, found.end) for found in plan.add] == [(200, 300), (300, 400)]
    full = shelf(*(partition(number) for number in range(4)), last_drawn=99)
    assert retention.decide(full, POLICY).add == []
    assert names(retention.decide(dataclasses.replace(full, last_drawn=100), POLICY).add) == ["events_000000000400"]


def test_a_schema_of_twenty_and_one_partitions_needs_none_more() -> None:
    policy = Policy(age=datetime.timedelta(hours=24), count=100_000)
    width = retention.WIDTH
    found = [Partition(f"events_{n * width:012}", n * width, (n + 1) * width) for n in range(21)]
    assert retention.decide(shelf(*found, last_drawn=0), policy).add == []
    assert names(retention.decide(shelf(*found, last_drawn=width), policy).add) == ["events_000021000000"]


def test_a_sequence_beyond_all_partitions_gets_the_partition_it_needs() -> None:
    for found in ((partition(0),), ()):
        plan = retention.decide(shelf(*found, last_drawn=123_456), POLICY)
        assert plan.add[0].first == 123_400
        assert len(plan.add) == 4


def test_a_partition_is_forgotten_when_all_of_it_is_past_the_age_and_enough_others_are_kept() -> None:
    old = partition(0, 90, 24.1)
    for is_forgotten, changed in (
        (True, {}),
        (False, {"partitions": [partition(0, 90, 23.9), partition(1)]}),
        (False, {"kept_from": 99}),
        (False, {"last_drawn": 98}),
    ):
        found = shelf(old, partition(1), last_drawn=150, kept_from=100)
        plan = retention.decide(dataclasses.replace(found, **changed), POLICY)
        assert names(plan.forget) == ([FIRST] if is_forgotten else [])


def test_nothing_is_forgotten_behind_a_partition_that_is_kept() -> None:
    found = shelf(partition(0, 90, 1), partition(1, 90, 50), partition(2), last_drawn=250, kept_from=200)
    assert retention.decide(found, POLICY).forget == []


def test_a_partition_without_events_is_forgotten_once_its_numbers_are_drawn() -> None:
    assert names(retention.decide(shelf(partition(0), partition(1), last_drawn=99), POLICY).forget) == [FIRST]
    assert retention.decide(shelf(partition(0), partition(1), last_drawn=98), POLICY).forget == []


def test_with_no_count_even_the_last_event_is_forgotten() -> None:
    policy = dataclasses.replace(POLICY, count=0)
    found = shelf(partition(0, 90, 50), partition(1), last_drawn=99)
    assert names(retention.decide(found, policy).forget) == [FIRST]
    assert retention.decide(found, POLICY).forget == []


def test_the_current_partition_is_closed_after_a_part_of_the_age_if_it_holds_a_part_of_the_count() -> None:
    found = shelf(partition(0, 3.1, 0), *(partition(number) for number in range(1, 4)), last_drawn=20, closing_from=11)
    plan = retention.decide(found, POLICY)
    assert plan.close is not None
    assert plan.close.name == FIRST
    # What it takes is made up for before it is closed.
    less = dataclasses.replace(found, partitions=found.partitions[:3])
    assert [len(retention.decide(each, POLICY).add) for each in (found, less)] == [0, 1]
    young = dataclasses.replace(found, partitions=[partition(0, 2.9, 0), partition(1)])
    assert retention.decide(young, POLICY).close is None
    assert retention.decide(dataclasses.replace(found, closing_from=0), POLICY).close is None
    elsewhere = shelf(partition(0, 9, 9), partition(1, 4, 4), last_drawn=120, closing_from=95)
    assert retention.decide(elsewhere, POLICY).close is None


def test_a_partition_that_nothing_was_drawn_of_is_not_closed() -> None:
    found = shelf(partition(0, 3.1, 3), partition(1), last_drawn=99, closing_from=90)
    assert retention.decide(found, POLICY).close is None


def test_what_is_ahead_and_how_old_the_oldest_event_is() -> None:
    found = shelf(partition(0), partition(1, 5, 4), partition(2, 3, 2), partition(3), last_drawn=250)
    assert (found.revisions_ahead, found.partitions_ahead, found.oldest_at) == (149, 1, ago(5))
    empty = shelf(last_drawn=250)
    assert (empty.revisions_ahead, empty.partitions_ahead, empty.oldest_at) == (0, 0, None)


@given(
    hours=st.lists(st.floats(0, 100), min_size=1, max_size=6),
    drawn=st.integers(0, 99),
    kept_from=st.integers(0, 700),
)
def test_what_is_kept_is_one_piece_with_all_that_is_young_or_counted(
    hours: list[float], drawn: int, kept_from: int
) -> None:
    ages = sorted(hours, reverse=True)
    found = [partition(number, age, age) for number, age in enumerate(ages)]
    last_drawn = (len(found) - 1) * 100 + drawn
    plan = retention.decide(shelf(*found, last_drawn=last_drawn, kept_from=kept_from), POLICY)
    forgotten = list(plan.forget)
    assert forgotten == found[: len(forgotten)]
    for each in forgotten:
        assert each.newest_at is not None
        assert each.newest_at < ago(24)
        assert each.end <= kept_from
        assert each.end <= last_drawn + 1
    closed = plan.close.end - 1 if plan.close else last_drawn
    assert [*found, *plan.add][-1].end - 1 - closed >= POLICY.ready
