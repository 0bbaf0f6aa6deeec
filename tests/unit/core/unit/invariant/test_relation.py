"""I11 to I16 and I31: what a unit is told of a relation, over recorded logs."""

import pytest
from unit.core.unit_log import TEARDOWN, Recorded

from tinkwell.core.unit.kinds import EventState


@pytest.fixture
def log() -> Recorded:
    """Return a log with two units that have started, and a relation between them that nobody was told of."""
    log = Recorded()
    log.started("web/0", "pg/0")
    log.relation(1, "web:R", "pg:R")
    log.tell("pg/0", "relation-created", relation=1, application="web")
    return log


def _created(log: Recorded) -> None:
    log.tell("web/0", "relation-created", relation=1, application="pg")


def _joined(log: Recorded) -> None:
    _created(log)
    log.tell("web/0", "relation-joined", "relation-changed", relation=1, remote="pg/0")


def test_a_relation_in_its_order_is_right(log: Recorded) -> None:
    _joined(log)
    log.relation(1, life="DYING")
    log.tell("web/0", "relation-departed", relation=1, remote="pg/0")
    log.tell("web/0", "relation-broken", relation=1)
    assert log.found() == set()


def test_i11_a_relation_is_created_first(log: Recorded) -> None:
    log.tell("web/0", "relation-joined", "relation-changed", relation=1, remote="pg/0")
    assert "I11" in log.found()


def test_i11_a_relation_is_created_once(log: Recorded) -> None:
    _created(log)
    _created(log)
    assert log.found() == {"I11"}


def test_i12_changed_follows_joined_at_once(log: Recorded) -> None:
    _created(log)
    log.tell("web/0", "relation-joined", relation=1, remote="pg/0")
    log.tell("web/0", "update-status")
    assert log.found() == {"I12"}


def test_i12_a_skipped_changed_follows_joined_too(log: Recorded) -> None:
    _created(log)
    log.tell("web/0", "relation-joined", relation=1, remote="pg/0")
    log.skip("web/0", "relation-changed", relation=1, remote="pg/0")
    log.tell("web/0", "update-status")
    assert log.found() == set()


def test_i13_only_the_bags_of_members_are_told(log: Recorded) -> None:
    _created(log)
    log.tell("web/0", "relation-changed", relation=1, remote="pg/0")
    assert log.found() == {"I13"}


def test_i13_the_bag_of_an_application_is_told_without_members(log: Recorded) -> None:
    _created(log)
    log.tell("web/0", "relation-changed", relation=1, application="pg")
    assert log.found() == set()


def test_i13_there_is_no_echo_without_members(log: Recorded) -> None:
    _created(log)
    log.tell("web/0", "relation-changed", relation=1, remote="web/0", echo=True)
    assert "I13" in log.found()


def test_i14_nobody_joins_again(log: Recorded) -> None:
    _joined(log)
    log.unit("pg/0", life="DEAD", forced=True)
    log.tell("web/0", "relation-departed", relation=1, remote="pg/0")
    log.tell("web/0", "relation-joined", "relation-changed", relation=1, remote="pg/0")
    assert log.found() == {"I14"}


def test_i14_a_member_joins_once(log: Recorded) -> None:
    _joined(log)
    log.tell("web/0", "relation-joined", "relation-changed", relation=1, remote="pg/0")
    assert log.found() == {"I14"}


def test_i15_only_members_depart(log: Recorded) -> None:
    _created(log)
    log.unit("pg/0", life="DEAD", forced=True)
    log.tell("web/0", "relation-departed", relation=1, remote="pg/0")
    assert log.found() == {"I15"}


def test_i15_a_relation_is_broken_after_all_departed(log: Recorded) -> None:
    _joined(log)
    log.relation(1, life="DYING")
    log.tell("web/0", "relation-broken", relation=1)
    assert log.found() == {"I15"}


def test_i15_nothing_comes_after_broken(log: Recorded) -> None:
    _created(log)
    log.relation(1, life="DYING")
    log.tell("web/0", "relation-broken", relation=1)
    log.tell("web/0", "relation-changed", relation=1, application="pg")
    assert log.found() == {"I15"}


def _removed(log: Recorded) -> None:
    log.tell("web/0", *TEARDOWN)
    log.unit("web/0", life="DEAD")
    log.unit("web/0", change="DELETED")


def test_i16_all_that_joined_have_departed_in_the_end(log: Recorded) -> None:
    _joined(log)
    log.unit("web/0", life="DYING")
    log.tell("web/0", "relation-broken", relation=1)
    _removed(log)
    assert log.found() == {"I15", "I16"}


def test_i16_all_that_was_created_is_broken_in_the_end(log: Recorded) -> None:
    _created(log)
    log.unit("web/0", life="DYING")
    _removed(log)
    assert log.found() == {"I16"}


def test_i16_a_unit_that_was_removed_by_force_owes_nothing(log: Recorded) -> None:
    _joined(log)
    running = log.grant("web/0", "update-status")
    log.become(running, EventState.ABANDONED)
    log.unit("web/0", life="DEAD", forced=True)
    assert log.found() == set()


def test_i31_broken_comes_where_the_relation_is_removed(log: Recorded) -> None:
    _created(log)
    log.tell("web/0", "relation-broken", relation=1)
    assert log.found() == {"I31"}
