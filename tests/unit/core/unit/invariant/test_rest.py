"""I3, I16, I31, I38, L1 to L3 once nothing is due any more, over recorded logs."""

import pytest
from unit.core.unit_log import SETUP, Recorded

from tinkwell.core.unit.kinds import EventState, Profile


@pytest.fixture(params=Profile)
def log(request: pytest.FixtureRequest) -> Recorded:
    """Return a log of either profile with web/0 and pg/0, which lead, and were told of each other."""
    profile: Profile = request.param
    return _related(profile)


def _related(profile: Profile) -> Recorded:
    log = Recorded(profile)
    for name in ("web", "pg"):
        log.application(name, leader=f"{name}/0", term=1)
        log.unit(f"{name}/0")
        log.tell(f"{name}/0", "install", "leader-elected", "config-changed", "start")
    log.relation(1, "web:R", "pg:R")
    for unit in ("web/0", "pg/0"):
        log.tell(unit, "relation-created", relation=1)
    _join(log, "web/0", "pg/0")
    _join(log, "pg/0", "web/0")
    return log


def _join(log: Recorded, unit: str, remote: str) -> None:
    log.tell(unit, "relation-joined", "relation-changed", relation=1, remote=remote)


def _write(log: Recorded, unit: str, owner: str, version: int) -> None:
    running = log.grant(unit, "update-status")
    log.bag(1, owner, version)
    log.become(running, EventState.COMMITTED)


def _added(log: Recorded) -> None:
    log.unit("web/1")
    log.tell("web/1", "install")
    log.tell("web/1", "relation-created", relation=1)
    log.tell("web/1", "leader-settings-changed", "config-changed", "start")
    _join(log, "web/1", "pg/0")


def test_a_relation_at_rest_is_right(log: Recorded) -> None:
    assert log.violations(is_at_rest=True) == []


def test_i38_the_last_version_of_a_unit_is_told(log: Recorded) -> None:
    _write(log, "pg/0", "pg/0", 1)
    log.tell("pg/0", "relation-changed", relation=1, remote="pg/0", echo=True, bag=1)
    assert "I38" in log.found(is_at_rest=True)
    log.tell("web/0", "relation-changed", relation=1, remote="pg/0", bag=1)
    assert "I38" not in log.found(is_at_rest=True)


def test_i38_the_last_version_of_the_other_application_is_told(log: Recorded) -> None:
    _write(log, "pg/0", "pg", 1)
    assert log.found(is_at_rest=True) == {"I38"}
    log.tell("web/0", "relation-changed", relation=1, application="pg", bag=1)
    assert log.found(is_at_rest=True) == set()


def test_i16_the_units_of_the_other_side_have_joined(log: Recorded) -> None:
    _added(log)
    assert "I16" in log.found(is_at_rest=True)


def test_i16_who_left_has_departed(log: Recorded) -> None:
    log.unit("pg/0", life="DEAD", forced=True)
    log.unit("pg/0", change="DELETED")
    assert "I16" in log.found(is_at_rest=True)


def test_i16_who_is_to_go_is_gone(log: Recorded) -> None:
    log.unit("pg/0", life="DYING")
    log.tell("pg/0", "relation-departed", relation=1, remote="web/0")
    assert "I16" in log.found(is_at_rest=True)


def test_i3_a_relation_that_is_there_is_created(log: Recorded) -> None:
    log.relation(2, "web:S", "pg:S")
    assert log.found(is_at_rest=True) == {"I3"}


def test_i31_a_relation_that_is_gone_is_broken(log: Recorded) -> None:
    log.relation(1, life="DYING")
    assert log.found(is_at_rest=True) == {"I31"}


def test_l1_older_siblings_are_told_of_a_newcomer() -> None:
    log = _related(Profile.LITERAL)
    _added(log)
    _join(log, "pg/0", "web/1")
    assert log.found(is_at_rest=True) == {"L1"}
    _join(log, "web/0", "web/1")
    assert log.found(is_at_rest=True) == set()


def test_j1_siblings_need_not_meet() -> None:
    log = _related(Profile.JUJU)
    _added(log)
    _join(log, "pg/0", "web/1")
    assert log.found(is_at_rest=True) == set()


def test_l2_younger_siblings_are_told_who_left() -> None:
    log = _related(Profile.LITERAL)
    _added(log)
    _join(log, "pg/0", "web/1")
    log.unit("web/0", life="DEAD", forced=True)
    log.application("web", leader="web/1", term=2)
    log.tell("web/1", "leader-elected")
    log.tell("pg/0", "relation-departed", relation=1, remote="web/0")
    assert log.found(is_at_rest=True) == {"L2"}
    log.tell("web/1", "relation-departed", relation=1, remote="web/0", mirrored=True)
    assert log.found(is_at_rest=True) == set()


def test_l3_a_unit_is_told_of_its_last_write() -> None:
    log = _related(Profile.LITERAL)
    _write(log, "web/0", "web/0", 1)
    log.tell("pg/0", "relation-changed", relation=1, remote="web/0", bag=1)
    assert log.found(is_at_rest=True) == {"L3"}


def test_a_unit_without_a_leader_is_no_unit_at_rest() -> None:
    log = Recorded()
    log.application("web")
    log.unit("web/0")
    log.tell("web/0", *SETUP)
    assert log.found(is_at_rest=True) == {"I21"}
