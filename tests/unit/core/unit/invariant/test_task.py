"""I8, I12, I18 and I32: tasks, over recorded logs."""

import pytest
from unit.core.unit_log import Recorded

from tinkwell.core.unit.kinds import EventState


@pytest.fixture
def log() -> Recorded:
    """Return a log with two units that have started and are related."""
    log = Recorded()
    log.started("web/0", "pg/0")
    log.relation(3, "pg:db", "web:db")
    for unit, other in (("web/0", "pg"), ("pg/0", "web")):
        log.tell(unit, "relation-created", relation=3, application=other)
    return log


def test_tasks_run_between_events(log: Recorded) -> None:
    log.run("one", "web/0")
    log.tell("web/0", "update-status")
    log.run("two", "web/0")
    assert log.found() == set()


def test_a_task_may_run_while_an_event_has_failed(log: Recorded) -> None:
    event = log.grant("web/0", "update-status")
    log.become(event, EventState.ERROR)
    log.run("one", "web/0")
    log.become(event, EventState.RUNNING, attempt=2)
    log.become(event, EventState.COMMITTED)
    assert log.found() == set()


def test_i8_no_task_begins_before_the_start(log: Recorded) -> None:
    log.application("solo")
    for unit in ("solo/0", "solo/1"):
        log.unit(unit)
        log.tell(unit, "install")
        log.task(f"of {unit}", unit)
    log.tell("solo/0", "config-changed", "start")
    log.task("of solo/0", "solo/0", "RUNNING")
    assert log.found() == set()
    log.task("of solo/1", "solo/1", "RUNNING")
    log.task("of solo/1", "solo/1", "SUCCEEDED")
    log.tell("solo/1", "config-changed", "start")
    assert log.found() == {"I8"}


def test_i8_no_task_begins_after_the_removal_was_asked_for(log: Recorded) -> None:
    log.task("one", "web/0")
    log.task("one", "web/0", "RUNNING")
    log.unit("web/0", life="DYING")
    log.task("one", "web/0", "SUCCEEDED")
    assert log.found() == set()
    log.run("two", "web/0")
    assert log.found() == {"I8"}


def test_a_task_that_never_ran_is_no_mistake(log: Recorded) -> None:
    log.unit("web/1")
    log.task("one", "web/1")
    log.task("one", "web/1", "CANCELLED")
    assert log.found() == set()


def test_i12_no_task_comes_between_joined_and_its_changed(log: Recorded) -> None:
    log.tell("web/0", "relation-joined", relation=3, application="pg", remote="pg/0")
    log.run("one", "web/0")
    log.tell("web/0", "relation-changed", relation=3, application="pg", remote="pg/0")
    assert log.found() == {"I12"}


def test_i18_no_task_comes_within_the_chain_of_an_upgrade(log: Recorded) -> None:
    log.application("web", charm="charm-2")
    log.tell("web/0", "upgrade-charm", "config-changed")
    log.run("one", "web/0")
    log.tell("web/0", "start")
    assert log.found() == {"I18"}


def test_i32_two_tasks_do_not_run_at_once(log: Recorded) -> None:
    for name in ("one", "two"):
        log.task(name, "web/0", "RUNNING")
    for name in ("one", "two"):
        log.task(name, "web/0", "SUCCEEDED")
    assert log.found() == {"I32"}


def test_i32_no_task_begins_while_an_event_runs(log: Recorded) -> None:
    event = log.grant("web/0", "update-status")
    log.run("one", "web/0")
    log.become(event, EventState.COMMITTED)
    assert log.found() == {"I32"}


def test_i32_no_event_begins_while_a_task_runs(log: Recorded) -> None:
    log.task("one", "web/0", "RUNNING")
    log.tell("web/0", "update-status")
    log.task("one", "web/0", "FAILED")
    assert log.found() == {"I32"}


def test_i34_a_task_that_has_succeeded_may_write(log: Recorded) -> None:
    log.task("one", "web/0", "RUNNING")
    log.bag(3, "web/0", 1)
    log.task("one", "web/0", "SUCCEEDED")
    assert log.found() == set()


def test_i34_a_task_that_has_failed_leaves_nothing(log: Recorded) -> None:
    log.tell("web/0", "update-status")
    log.task("one", "web/0", "RUNNING")
    log.bag(3, "web/0", 1)
    log.task("one", "web/0", "FAILED")
    assert log.found() == {"I34"}


def test_l3_what_a_task_writes_is_echoed(log: Recorded) -> None:
    log.tell("web/0", "relation-joined", "relation-changed", relation=3, application="pg", remote="pg/0")
    log.task("one", "web/0", "RUNNING")
    log.bag(3, "web/0", 1)
    log.task("one", "web/0", "SUCCEEDED")
    log.tell("web/0", "relation-changed", relation=3, application="web", remote="web/0", echo=True, bag=1)
    assert log.found() == set()
