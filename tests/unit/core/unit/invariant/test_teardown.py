"""I28 to I30 and I37: how a unit ends, over recorded logs."""

import pytest
from unit.core.unit_log import TEARDOWN, Recorded

from tinkwell.core.unit.kinds import EventState


@pytest.fixture
def log() -> Recorded:
    """Return a log with a unit that has started, is in two relations, one of peers, and has a storage."""
    log = Recorded()
    log.application("web")
    log.unit("web/0")
    log.storage("data/0", "web/0")
    log.relation(1, "web:cluster")
    log.relation(2, "web:R", "pg:R")
    log.tell("web/0", "storage-attached", storage="data/0")
    log.tell("web/0", "install")
    log.tell("web/0", "relation-created", relation=1, endpoint="cluster")
    log.tell("web/0", "relation-created", relation=2)
    log.tell("web/0", "config-changed", "start")
    log.unit("web/1")
    log.tell("web/0", "relation-joined", "relation-changed", relation=1, remote="web/1")
    return log


def _broken(log: Recorded) -> None:
    log.tell("web/0", "relation-broken", relation=2)


def _departed(log: Recorded) -> None:
    log.tell("web/0", "relation-departed", relation=1, remote="web/1")


def _detaching(log: Recorded) -> None:
    log.tell("web/0", "storage-detaching", storage="data/0")


def _dead(log: Recorded) -> None:
    log.unit("web/0", life="DEAD")
    log.unit("web/0", change="DELETED")


def test_a_teardown_in_its_order_is_right(log: Recorded) -> None:
    log.unit("web/0", life="DYING")
    _broken(log)
    _departed(log)
    _detaching(log)
    log.tell("web/0", *TEARDOWN)
    _dead(log)
    assert log.found() == set()


def test_i28_relations_come_before_storage(log: Recorded) -> None:
    log.unit("web/0", life="DYING")
    _departed(log)
    _detaching(log)
    _broken(log)
    assert log.found() == {"I28"}


def test_i28_peers_come_after_other_relations(log: Recorded) -> None:
    log.unit("web/0", life="DYING")
    _departed(log)
    _broken(log)
    assert log.found() == {"I28"}


def test_i28_stop_comes_after_storage(log: Recorded) -> None:
    log.unit("web/0", life="DYING")
    _broken(log)
    _departed(log)
    log.tell("web/0", "stop")
    _detaching(log)
    assert log.found() == {"I28"}


def test_i29_a_unit_that_had_started_is_stopped(log: Recorded) -> None:
    log.unit("web/0", life="DYING")
    _broken(log)
    _departed(log)
    _detaching(log)
    log.tell("web/0", "remove")
    _dead(log)
    assert log.found() == {"I29"}


def test_i29_a_unit_that_had_not_started_is_not_stopped() -> None:
    log = Recorded()
    log.application("web")
    log.unit("web/0")
    log.tell("web/0", "install")
    log.unit("web/0", life="DYING")
    log.tell("web/0", *TEARDOWN)
    assert log.found() == {"I29"}


def test_i29_nothing_stops_that_is_to_stay(log: Recorded) -> None:
    log.tell("web/0", "stop")
    assert log.found() == {"I29"}


def test_i30_a_unit_that_was_installed_is_removed(log: Recorded) -> None:
    log.unit("web/0", life="DYING")
    _broken(log)
    _departed(log)
    _detaching(log)
    log.tell("web/0", "stop")
    _dead(log)
    assert log.found() == {"I30"}


def test_i30_a_unit_that_was_not_installed_is_not_removed() -> None:
    log = Recorded()
    log.application("web")
    log.unit("web/0")
    log.unit("web/0", life="DYING")
    log.tell("web/0", "remove")
    assert "I30" in log.found()


def test_i30_remove_is_the_last(log: Recorded) -> None:
    log.unit("web/0", life="DYING")
    _broken(log)
    _departed(log)
    log.tell("web/0", *TEARDOWN)
    _detaching(log)
    assert log.found() == {"I28", "I30"}


@pytest.mark.parametrize("kind", ["config-changed", "collect-metrics"])
def test_i30_nothing_but_teardown_is_granted(log: Recorded, kind: str) -> None:
    log.unit("web/0", life="DYING")
    log.tell("web/0", kind)
    assert "I30" in log.found()


def test_i30_what_was_granted_before_may_be_committed(log: Recorded) -> None:
    running = log.grant("web/0", "config-changed")
    log.unit("web/0", life="DYING")
    log.become(running, EventState.COMMITTED)
    _broken(log)
    assert log.found() == set()


def test_i30_what_must_follow_at_once_does(log: Recorded) -> None:
    log.tell("web/0", "relation-joined", relation=2, remote="pg/0")
    log.unit("web/0", life="DYING")
    log.tell("web/0", "relation-changed", relation=2, remote="pg/0")
    assert log.found() == set()


def test_i37_nothing_comes_after_a_forced_removal(log: Recorded) -> None:
    running = log.grant("web/0", "update-status")
    log.unit("web/0", life="DEAD", forced=True)
    log.become(running, EventState.COMMITTED)
    assert log.found() == {"I37"}


def test_i37_what_ran_is_abandoned(log: Recorded) -> None:
    running = log.grant("web/0", "update-status")
    log.unit("web/0", life="DEAD", forced=True)
    log.become(running, EventState.ABANDONED)
    assert log.found() == set()
