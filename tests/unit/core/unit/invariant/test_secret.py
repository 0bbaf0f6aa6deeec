"""I25: events of secrets, over recorded logs."""

import pytest
from unit.core.unit_log import Recorded

from tinkwell.core.unit.kinds import EventState


@pytest.fixture
def log() -> Recorded:
    """Return a log where pg/0 owns a secret that it lets web read by relation 3; web/0 leads web, web/1 follows."""
    log = Recorded()
    log.started("web/0", "web/1", "pg/0")
    log.application("web", leader="web/0", term=1)
    log.relation(3, "pg:db", "web:db")
    for unit in ("pg/0", "web/0", "web/1"):
        log.tell(unit, "relation-created", relation=3, application="web" if unit == "pg/0" else "pg")
    log.secret("s1", "pg/0")
    log.secret("s1", "pg/0", "3:web", latest=2, rotation="DAILY")
    return log


def changed(log: Recorded, unit: str, revision: int = 2, secret: str = "s1") -> None:
    log.tell(unit, "secret-changed", secret=secret, revision=revision)


def test_i25_who_was_granted_a_secret_is_told_of_each_newest_revision(log: Recorded) -> None:
    changed(log, "web/0")
    changed(log, "web/1")
    log.secret("s1", "pg/0", "3:web", latest=4)
    changed(log, "web/0", 4)
    assert log.found() == set()


def test_i25_a_revision_is_told_once(log: Recorded) -> None:
    changed(log, "web/0")
    changed(log, "web/0")
    assert log.found() == {"I25"}


def test_i25_what_is_told_is_the_newest_revision(log: Recorded) -> None:
    log.secret("s1", "pg/0", "3:web", latest=4)
    log.tell("web/0", "update-status")
    changed(log, "web/0", 3)
    assert log.found() == {"I25"}


def test_i25_a_revision_that_is_not_there_is_not_told(log: Recorded) -> None:
    changed(log, "web/0", 7)
    assert log.found() == {"I25"}


def test_i25_what_a_grant_could_not_know_is_no_mistake(log: Recorded) -> None:
    event = log.grant("web/0", "update-status")
    log.secret("s1", "pg/0", latest=3)
    log.become(event, EventState.COMMITTED)
    changed(log, "web/0")
    assert log.found() == set()


def test_i25_who_was_granted_nothing_is_not_told(log: Recorded) -> None:
    log.secret("s1", "pg/0", "3:loki", "web/1")
    log.tell("web/0", "update-status")
    changed(log, "web/1")
    assert log.found() == set()
    changed(log, "web/0")
    assert log.found() == {"I25"}


def test_i25_a_grant_ends_when_the_unit_has_broken_the_relation(log: Recorded) -> None:
    log.relation(3, life="DYING")
    changed(log, "web/0")
    log.tell("web/0", "relation-broken", relation=3, application="pg")
    log.tell("web/0", "update-status")
    assert log.found() == set()
    log.secret("s1", "pg/0", "3:web", latest=3)
    changed(log, "web/0", 3)
    assert log.found() == {"I25"}


def test_i25_a_secret_that_is_gone_is_not_told(log: Recorded) -> None:
    log.secret("s1", "pg/0", change="DELETED")
    log.tell("web/0", "update-status")
    changed(log, "web/0")
    assert log.found() == {"I25"}


def test_i25_who_owns_a_secret_is_not_told_that_it_has_changed(log: Recorded) -> None:
    changed(log, "pg/0")
    assert log.found() == {"I25"}


def test_i25_the_others_of_an_application_are_told_of_what_it_owns(log: Recorded) -> None:
    log.secret("s2", "web", latest=2)
    log.tell("web/0", "update-status")
    log.tell("web/1", "update-status")
    changed(log, "web/1", secret="s2")
    assert log.found() == set()
    changed(log, "web/0", secret="s2")
    assert log.found() == {"I25"}


@pytest.mark.parametrize("kind", ["secret-rotate", "secret-expired", "secret-remove"])
def test_i25_what_is_for_owners_comes_to_the_owner(log: Recorded, kind: str) -> None:
    log.tell("pg/0", kind, secret="s1", revision=0 if kind == "secret-rotate" else 1)
    assert log.found() == set()
    log.tell("web/0", kind, secret="s1", revision=0 if kind == "secret-rotate" else 1)
    assert log.found() == {"I25"}


@pytest.mark.parametrize("kind", ["secret-rotate", "secret-expired", "secret-remove"])
def test_i25_what_an_application_owns_is_the_leaders(log: Recorded, kind: str) -> None:
    log.secret("s2", "web", latest=3, rotation="HOURLY")
    for unit in ("web/0", "web/1"):
        log.tell(unit, "update-status")
    log.tell("web/0", kind, secret="s2", revision=0 if kind == "secret-rotate" else 1)
    assert log.found() == set()
    log.tell("web/1", kind, secret="s2", revision=0 if kind == "secret-rotate" else 1)
    assert log.found() == {"I25"}


def test_i25_who_led_when_it_was_granted_owns_what_its_application_does(log: Recorded) -> None:
    log.secret("s2", "web", latest=3)
    event = log.grant("web/0", "secret-remove", secret="s2", revision=1)
    log.application("web", leader="web/1", term=2)
    log.become(event, EventState.COMMITTED)
    assert log.found() == set()


def test_i25_the_newest_revision_is_read(log: Recorded) -> None:
    log.tell("pg/0", "update-status")
    log.tell("pg/0", "secret-remove", secret="s1", revision=2)
    assert log.found() == {"I25"}


def test_i25_what_nobody_reads_is_told_once(log: Recorded) -> None:
    log.tell("pg/0", "secret-remove", "secret-remove", secret="s1", revision=1)
    assert log.found() == {"I25"}


def test_i25_an_expiry_may_be_told_again(log: Recorded) -> None:
    log.tell("pg/0", "secret-expired", "secret-expired", secret="s1", revision=2)
    assert log.found() == set()


def test_i25_only_what_has_an_interval_is_rotated(log: Recorded) -> None:
    log.secret("s1", "pg/0", "3:web", rotation="NEVER")
    log.tell("pg/0", "update-status")
    log.tell("pg/0", "secret-rotate", secret="s1")
    assert log.found() == {"I25"}


def test_i25_secrets_come_in_operation(log: Recorded) -> None:
    log.unit("web/2")
    log.tell("web/2", "install")
    log.tell("web/2", "secret-changed", secret="s1", revision=2)
    assert "I25" in log.found()


def test_i25_secrets_do_not_come_to_who_is_to_go(log: Recorded) -> None:
    log.unit("web/1", life="DYING")
    changed(log, "web/1")
    assert "I25" in log.found()


def test_what_was_there_before_the_log_is_not_judged(log: Recorded) -> None:
    changed(log, "web/0", 5, secret="s9")
    assert log.found() == set()


def test_who_may_read_is_not_judged_where_the_log_does_not_say_it(log: Recorded) -> None:
    log.secret("s2", "pg/0", latest=2, grants=None)
    log.tell("web/0", "update-status")
    changed(log, "web/0", secret="s2")
    assert log.found() == set()
