"""I32 to I34 and I36: one event at a time, numbered without gaps, with its effects, over recorded logs."""

import pytest
from unit.core.unit_log import Recorded

from tinkwell.core.unit.kinds import EventState

_S = EventState


@pytest.fixture
def log() -> Recorded:
    """Return a log with a unit that has started."""
    log = Recorded()
    log.started("web/0")
    return log


def test_an_event_that_fails_and_is_tried_again_is_right(log: Recorded) -> None:
    failing = log.grant("web/0", "update-status")
    log.become(failing, _S.ERROR)
    log.become(failing, _S.RUNNING, attempt=2)
    log.become(failing, _S.RUNNING, attempt=3)
    log.become(failing, _S.COMMITTED)
    assert log.found() == set()


def test_i32_a_unit_has_one_event_in_flight(log: Recorded) -> None:
    log.grant("web/0", "update-status")
    log.grant("web/0", "update-status")
    assert log.found() == {"I32"}


def test_i33_an_event_that_failed_blocks_its_unit(log: Recorded) -> None:
    failing = log.grant("web/0", "update-status")
    log.become(failing, _S.ERROR)
    log.tell("web/0", "update-status")
    assert log.found() == {"I33"}


@pytest.mark.parametrize("over", [_S.SKIPPED, _S.WITHDRAWN])
def test_i33_until_it_is_over(log: Recorded, over: EventState) -> None:
    failing = log.grant("web/0", "update-status")
    log.become(failing, _S.ERROR)
    log.become(failing, over)
    log.tell("web/0", "update-status")
    assert log.found() == set()


def test_i32_attempts_are_counted_without_gaps(log: Recorded) -> None:
    failing = log.grant("web/0", "update-status")
    log.become(failing, _S.RUNNING, attempt=3)
    assert log.found() == {"I32"}


def test_i32_what_has_failed_is_not_committed_without_another_attempt(log: Recorded) -> None:
    failing = log.grant("web/0", "update-status")
    log.become(failing, _S.ERROR)
    log.become(failing, _S.COMMITTED)
    assert log.found() == {"I32"}


def test_i32_what_is_over_stays_over(log: Recorded) -> None:
    running = log.grant("web/0", "update-status")
    log.become(running, _S.COMMITTED)
    log.become(running, _S.RUNNING, attempt=2)
    assert log.found() == {"I32"}


def test_i32_what_never_ran_may_only_be_skipped(log: Recorded) -> None:
    log.grant("web/0", "update-status", state=_S.COMMITTED)
    assert log.found() == {"I32"}


def test_i32_an_event_stays_what_it_is(log: Recorded) -> None:
    running = log.grant("web/0", "update-status")
    log.become(running, _S.COMMITTED, kind="collect-metrics")
    assert log.found() == {"I32"}


def test_i34_ordinals_have_no_gaps(log: Recorded) -> None:
    log.tell("web/0", "update-status", ordinal=5)
    assert log.found() == {"I34"}


def test_i34_an_event_that_was_withdrawn_keeps_its_ordinal(log: Recorded) -> None:
    log.become(log.grant("web/0", "update-status"), _S.WITHDRAWN)
    log.tell("web/0", "update-status", ordinal=4)
    assert log.found() == {"I34"}


def _related(log: Recorded) -> None:
    log.relation(1, "web:R", "pg:R")
    log.tell("web/0", "relation-created", relation=1)


def test_i34_a_bag_changes_with_the_commit_of_an_event(log: Recorded) -> None:
    _related(log)
    running = log.grant("web/0", "update-status")
    log.bag(1, "web/0", 1)
    log.become(running, _S.COMMITTED)
    assert log.found() == set()


def test_i34_no_bag_changes_where_an_event_fails(log: Recorded) -> None:
    _related(log)
    running = log.grant("web/0", "update-status")
    log.bag(1, "web/0", 1)
    log.become(running, _S.ERROR)
    assert log.found() == {"I34"}


def test_i34_a_commit_writes_once(log: Recorded) -> None:
    _related(log)
    running = log.grant("web/0", "update-status")
    log.bag(1, "web/0", 2)
    log.become(running, _S.COMMITTED)
    assert log.found() == {"I34"}
