"""I17, I35, L1 to L3 and J1: who is told of whom, over recorded logs."""

import pytest
from unit.core.unit_log import Recorded

from tinkwell.core.unit.kinds import EventState, Profile


def _related(profile: Profile = Profile.LITERAL) -> Recorded:
    """Return a log of pg/0, and of web/0 which has entered before web/1; each has started, and joined has nobody."""
    log = Recorded(profile)
    log.started("web/0", "web/1", "pg/0")
    log.relation(1, "web:R", "pg:R")
    for unit in ("web/0", "web/1", "pg/0"):
        log.tell(unit, "relation-created", relation=1)
    return log


@pytest.fixture
def log() -> Recorded:
    return _related()


def _join(log: Recorded, unit: str, remote: str, **seen: int) -> None:
    log.tell(unit, "relation-joined", "relation-changed", relation=1, remote=remote, **seen)


def test_i17_who_leaves_breaks_the_relation_before_others_are_told(log: Recorded) -> None:
    _join(log, "web/0", "pg/0")
    log.unit("pg/0", life="DYING")
    log.tell("web/0", "relation-departed", relation=1, remote="pg/0")
    assert log.found() == {"I17"}


def test_i17_after_that_others_are_told(log: Recorded) -> None:
    _join(log, "web/0", "pg/0")
    log.unit("pg/0", life="DYING")
    log.tell("pg/0", "relation-broken", relation=1)
    log.tell("web/0", "relation-departed", relation=1, remote="pg/0")
    assert log.found() == set()


def test_i17_a_relation_breaks_on_both_sides_at_once(log: Recorded) -> None:
    _join(log, "web/0", "pg/0")
    log.relation(1, life="DYING")
    log.tell("web/0", "relation-departed", relation=1, remote="pg/0")
    assert log.found() == set()


def test_i35_a_relation_is_there_until_everybody_has_left(log: Recorded) -> None:
    log.relation(1, life="DYING")
    log.tell("web/0", "relation-broken", relation=1)
    log.tell("pg/0", "relation-broken", relation=1)
    log.relation(1, change="DELETED")
    assert log.found() == {"I35"}


def test_i35_who_withdrew_has_left(log: Recorded) -> None:
    log.unit("web/2")
    log.tell("web/2", "install")
    entering = log.grant("web/2", "relation-created", relation=1)
    log.relation(1, life="DYING")
    log.become(entering, EventState.WITHDRAWN)
    for unit in ("web/0", "web/1", "pg/0"):
        log.tell(unit, "relation-broken", relation=1)
    log.relation(1, change="DELETED")
    assert log.found() == set()


def test_i35_a_peer_relation_is_there_until_the_last_unit_is_gone() -> None:
    log = Recorded()
    log.application("web")
    log.relation(1, "web:cluster")
    log.unit("web/0")
    log.tell("web/0", "install")
    log.tell("web/0", "relation-created", relation=1)
    log.relation(1, change="DELETED")
    assert "I35" in log.found()


def test_l1_a_newcomer_is_told_of_no_older_sibling(log: Recorded) -> None:
    _join(log, "web/1", "web/0")
    assert log.found() == {"L1"}


def test_l1_who_is_there_is_told_of_a_newcomer(log: Recorded) -> None:
    _join(log, "web/0", "web/1")
    assert log.found() == set()


def _leave(log: Recorded, unit: str) -> None:
    log.unit(unit, life="DYING")
    log.tell(unit, "relation-broken", relation=1)


def test_l2_the_leaving_of_an_older_sibling_is_mirrored(log: Recorded) -> None:
    _leave(log, "web/0")
    log.tell("web/1", "relation-departed", relation=1, remote="web/0", mirrored=True)
    assert log.found() == set()


def test_l2_that_of_a_younger_one_is_not(log: Recorded) -> None:
    _leave(log, "web/1")
    log.tell("web/0", "relation-departed", relation=1, remote="web/1", mirrored=True)
    assert log.found() == {"L2"}


def _write(log: Recorded, unit: str, kind: str, version: int, **event: int) -> None:
    writing = log.grant(unit, kind, **event)
    log.bag(1, unit, version)
    log.become(writing, EventState.COMMITTED)


def test_l3_a_unit_is_told_of_what_it_wrote(log: Recorded) -> None:
    _join(log, "web/0", "pg/0")
    _write(log, "web/0", "update-status", 1)
    log.tell("web/0", "relation-changed", relation=1, remote="web/0", echo=True, bag=1)
    assert log.found() == set()


def test_l3_it_is_not_told_of_what_it_wrote_in_a_handler_of_the_relation(log: Recorded) -> None:
    _join(log, "web/0", "pg/0")
    writing = log.grant("web/0", "relation-changed", relation=1, remote="pg/0")
    log.bag(1, "web/0", 1)
    log.become(writing, EventState.COMMITTED)
    log.tell("web/0", "relation-changed", relation=1, remote="web/0", echo=True, bag=1)
    assert log.found() == {"L3"}


def test_l3_it_is_told_once(log: Recorded) -> None:
    _join(log, "web/0", "pg/0")
    _write(log, "web/0", "update-status", 1)
    log.tell("web/0", "relation-changed", "relation-changed", relation=1, remote="web/0", echo=True, bag=1)
    assert log.found() == {"L3"}


def test_j1_siblings_meet_in_relations_of_peers_alone() -> None:
    log = _related(Profile.JUJU)
    _join(log, "web/0", "web/1")
    assert log.found() == {"J1"}


def test_j1_nobody_is_told_of_its_own_write() -> None:
    log = _related(Profile.JUJU)
    _join(log, "web/0", "pg/0")
    _write(log, "web/0", "update-status", 1)
    log.tell("web/0", "relation-changed", relation=1, remote="web/0", echo=True, bag=1)
    assert log.found() == {"J1"}
