"""I19 to I21: who leads, and who is told so, over recorded logs."""

import pytest
from unit.core.unit_log import SETUP, Recorded


@pytest.fixture
def log() -> Recorded:
    """Return a log with two units, of which web/0 has been elected for the first term, and both were told so."""
    log = Recorded()
    log.application("web")
    log.unit("web/0")
    log.unit("web/1")
    log.application("web", leader="web/0", term=1)
    log.tell("web/0", "install", "leader-elected", "config-changed", "start")
    log.application("web", announced_term=1)
    log.tell("web/1", "install", "leader-settings-changed", "config-changed", "start")
    return log


def _replace(log: Recorded) -> None:
    """Have web/1 lead in the second term."""
    log.application("web", leader="web/1", term=2)
    log.tell("web/1", "leader-elected")
    log.application("web", announced_term=2)


def test_elections_that_all_are_told_of_are_right(log: Recorded) -> None:
    _replace(log)
    log.tell("web/0", "leader-settings-changed")
    assert log.violations(is_at_rest=True) == []


def test_i19_only_who_leads_is_elected(log: Recorded) -> None:
    log.application("web", leader="web/1", term=2)
    log.tell("web/0", "leader-elected")
    assert log.found() == {"I19"}


def test_i19_settings_are_not_told_to_the_leader(log: Recorded) -> None:
    log.tell("web/0", "update-status", "leader-settings-changed")
    assert log.found() == {"I19"}


def test_i19_settings_may_cross_an_election(log: Recorded) -> None:
    log.tell("web/1", "update-status")
    log.application("web", leader="web/1", term=2)
    log.tell("web/1", "leader-settings-changed", term=1)
    assert log.found() == set()


def test_i19_a_term_has_one_leader(log: Recorded) -> None:
    log.application("web", leader="web/1")
    assert log.found() == {"I19"}


def test_i19_a_term_that_is_over_is_not_given_again(log: Recorded) -> None:
    log.application("web", leader="")
    log.application("web", leader="web/1")
    assert log.found() == {"I19"}


def test_i19_terms_grow(log: Recorded) -> None:
    log.application("web", leader="web/1", term=0)
    assert log.found() == {"I19"}


def test_i20_others_are_told_of_an_election(log: Recorded) -> None:
    _replace(log)
    assert log.found(is_at_rest=True) == {"I20"}
    assert log.found() == set()


def test_i20_elections_that_follow_each_other_are_told_once(log: Recorded) -> None:
    log.unit("web/2")
    log.tell("web/2", "install", "leader-settings-changed", "config-changed", "start")
    _replace(log)
    log.application("web", leader="web/0", term=3)
    log.tell("web/0", "leader-elected")
    log.application("web", announced_term=3)
    log.tell("web/1", "leader-settings-changed")
    log.tell("web/2", "leader-settings-changed")
    assert log.found(is_at_rest=True) == set()


def test_i21_where_the_leader_is_removed_somebody_else_leads(log: Recorded) -> None:
    log.unit("web/0", life="DEAD", forced=True)
    log.unit("web/0", change="DELETED")
    assert log.found(is_at_rest=True) == {"I21"}
    _replace(log)
    assert log.found(is_at_rest=True) == set()


def test_i21_who_leads_is_told_so(log: Recorded) -> None:
    log.application("web", leader="web/1", term=2)
    assert log.found(is_at_rest=True) == {"I21"}


def test_a_unit_that_comes_later_is_told_in_its_setup(log: Recorded) -> None:
    log.unit("web/2")
    log.tell("web/2", *SETUP)
    assert log.found(is_at_rest=True) == {"I20"}
