"""I1 to I10: how a unit begins, over recorded logs."""

import pytest
from unit.core.unit_log import SETUP, Recorded

from tinkwell.core.unit.kinds import EventState, Profile


@pytest.fixture
def log() -> Recorded:
    """Return a log with a unit that was told nothing."""
    log = Recorded()
    log.application("web")
    log.unit("web/0")
    return log


def test_a_setup_in_its_order_is_right(log: Recorded) -> None:
    log.storage("data/0", "web/0")
    log.relation(1, "web:cluster")
    log.application("web", leader="web/0", term=1)
    log.tell("web/0", "storage-attached", storage="data/0")
    log.tell("web/0", "install")
    log.tell("web/0", "relation-created", relation=1, endpoint="cluster")
    log.tell("web/0", "leader-elected", "config-changed", "start")
    log.application("web", announced_term=1)
    assert log.violations(is_at_rest=True) == []


def test_i1_storage_is_attached_before_install(log: Recorded) -> None:
    log.storage("data/0", "web/0")
    log.tell("web/0", *SETUP)
    assert log.found() == {"I1"}


def test_i1_what_is_added_later_need_not_be_attached_before_install(log: Recorded) -> None:
    installing = log.grant("web/0", "install")
    log.storage("data/0", "web/0")
    log.become(installing, EventState.COMMITTED)
    log.tell("web/0", "config-changed", "start")
    log.tell("web/0", "storage-attached", storage="data/0")
    assert log.found(is_at_rest=True) == {"I21"}


def test_i1_storage_that_leaves_its_unit_need_not_be_attached(log: Recorded) -> None:
    log.storage("data/0", "web/0")
    log.storage("data/0", "web/0", life="DYING")
    log.tell("web/0", *SETUP)
    assert log.found() == set()


def test_i1_nothing_but_storage_is_before_install(log: Recorded) -> None:
    log.tell("web/0", "config-changed", "install", "config-changed", "start")
    assert "I1" in log.found()


def test_i2_install_comes_once(log: Recorded) -> None:
    log.tell("web/0", *SETUP, "install")
    assert "I2" in log.found()


def test_i2_a_unit_that_stays_starts(log: Recorded) -> None:
    log.tell("web/0", "install")
    assert "I2" in log.found(is_at_rest=True)


def test_i3_each_relation_that_is_there_at_install_is_created_before_the_leader_step(log: Recorded) -> None:
    log.relation(1, "web:cluster")
    log.tell("web/0", *SETUP)
    log.tell("web/0", "relation-created", relation=1)
    assert log.found() == {"I3", "I9"}


def test_i3_a_relation_that_ends_meanwhile_need_not_be_created(log: Recorded) -> None:
    log.relation(1, "web:db", "pg:db")
    log.tell("web/0", "install")
    log.relation(1, life="DYING")
    log.tell("web/0", "config-changed", "start")
    assert log.found() == set()


def test_i3_what_only_a_newer_charm_may_have_need_not_be_created(log: Recorded) -> None:
    installing = log.grant("web/0", "install")
    log.application("web", charm="charm-2")
    log.relation(1, "web:new", "pg:new")
    log.become(installing, EventState.COMMITTED)
    log.tell("web/0", "config-changed", "start", charm="charm-1")
    assert log.found() == set()


def test_i4_the_leader_step_comes_once(log: Recorded) -> None:
    log.application("web", leader="web/0", term=1)
    log.tell("web/0", "install", "leader-elected")
    log.application("web", leader="web/1", term=2)
    log.tell("web/0", "leader-settings-changed", "config-changed", "start")
    assert log.found() == {"I4"}


def test_i5_a_setup_has_one_config_changed(log: Recorded) -> None:
    log.tell("web/0", "install", "config-changed", "config-changed", "start")
    assert log.found() == {"I5"}


def test_i5_a_setup_has_a_config_changed(log: Recorded) -> None:
    log.tell("web/0", "install", "start")
    assert {"I5", "I6", "I7"} == log.found()


def test_i6_nothing_is_between_config_changed_and_start(log: Recorded) -> None:
    log.relation(1, "web:db", "pg:db")
    log.tell("web/0", "install", "config-changed")
    log.tell("web/0", "relation-created", relation=1)
    log.tell("web/0", "start")
    assert "I6" in log.found()


def test_i7_relations_come_before_the_leader_step(log: Recorded) -> None:
    log.relation(1, "web:cluster")
    log.application("web", leader="web/0", term=1)
    log.tell("web/0", "install", "leader-elected")
    log.tell("web/0", "relation-created", relation=1)
    log.tell("web/0", "config-changed", "start")
    assert "I7" in log.found()


def test_i7_a_unit_that_is_removed_early_has_a_part_of_it(log: Recorded) -> None:
    log.tell("web/0", "install", "config-changed")
    log.unit("web/0", life="DYING")
    log.tell("web/0", "remove")
    log.unit("web/0", life="DEAD")
    log.unit("web/0", change="DELETED")
    assert log.found() == set()


@pytest.mark.parametrize("kind", ["update-status", "upgrade-charm", "collect-metrics"])
def test_i8_nothing_else_comes_before_start(log: Recorded, kind: str) -> None:
    log.tell("web/0", "install", kind, "config-changed", "start")
    assert "I8" in log.found()


def test_i9_a_peer_relation_is_created_in_setup(log: Recorded) -> None:
    log.tell("web/0", *SETUP)
    log.relation(1, "web:cluster")
    log.tell("web/0", "relation-created", relation=1)
    assert log.found() == {"I9"}


def test_i9_juju_creates_one_that_a_new_charm_brings() -> None:
    log = Recorded(Profile.JUJU)
    log.application("web")
    log.unit("web/0")
    log.tell("web/0", *SETUP)
    log.application("web", charm="charm-2")
    log.relation(1, "web:cluster")
    log.tell("web/0", "upgrade-charm", "config-changed", "start")
    log.tell("web/0", "relation-created", relation=1)
    assert log.found() == set()


def test_i9_an_endpoint_has_one_peer_relation(log: Recorded) -> None:
    log.relation(1, "web:cluster")
    log.relation(2, "web:cluster")
    log.tell("web/0", "install")
    log.tell("web/0", "relation-created", relation=1)
    log.tell("web/0", "relation-created", relation=2)
    log.tell("web/0", "config-changed", "start")
    assert log.found() == {"I9"}


def test_i9_a_peer_relation_is_never_broken(log: Recorded) -> None:
    log.relation(1, "web:cluster")
    log.tell("web/0", "install")
    log.tell("web/0", "relation-created", relation=1)
    log.tell("web/0", "config-changed", "start")
    log.relation(1, life="DYING")
    log.tell("web/0", "relation-broken", relation=1)
    assert log.found() == {"I9"}


def test_i10_what_begins_after_install_is_not_created_in_the_setup(log: Recorded) -> None:
    log.tell("web/0", "install")
    log.relation(1, "web:db", "pg:db")
    log.tell("web/0", "relation-created", relation=1)
    log.tell("web/0", "config-changed", "start")
    assert log.found() == {"I10"}
