"""I18, I22 to I24 and I26: what comes in the middle of a unit's life, over recorded logs."""

import pytest
from unit.core.unit_log import TEARDOWN, Recorded

from tinkwell.core.unit.kinds import EventState


@pytest.fixture
def log() -> Recorded:
    """Return a log with a unit that has started."""
    log = Recorded()
    log.started("web/0")
    return log


def test_i18_an_upgrade_is_followed_by_config_changed_and_start(log: Recorded) -> None:
    log.application("web", charm="charm-2")
    log.tell("web/0", "upgrade-charm", "config-changed", "start")
    assert log.found() == set()
    log.application("web", charm="charm-3")
    log.tell("web/0", "upgrade-charm", "config-changed", "update-status")
    assert log.found() == {"I18"}


def test_i18_code_changes_by_an_upgrade(log: Recorded) -> None:
    log.application("web", charm="charm-2")
    log.tell("web/0", "collect-metrics")
    assert log.found() == {"I18"}


def test_i18_code_may_change_where_an_event_is_tried_again(log: Recorded) -> None:
    failing = log.grant("web/0", "collect-metrics")
    log.become(failing, EventState.ERROR)
    log.application("web", charm="charm-2")
    log.become(failing, EventState.RUNNING, attempt=2, seen={"charm": "charm-2"})
    log.become(failing, EventState.COMMITTED)
    log.tell("web/0", "upgrade-charm", "config-changed", "start")
    assert log.found() == set()


def test_i18_code_never_goes_back(log: Recorded) -> None:
    log.application("web", charm="charm-2")
    log.tell("web/0", "upgrade-charm")
    log.tell("web/0", "config-changed", "start", charm="charm-1")
    assert log.found() == {"I18"}


def test_i18_an_application_may_go_back(log: Recorded) -> None:
    for charm in ("charm-2", "charm-1"):
        log.application("web", charm=charm)
        log.tell("web/0", "upgrade-charm", "config-changed", "start")
    assert log.found() == set()


def test_i18_everybody_sees_the_charm_of_today(log: Recorded) -> None:
    log.application("web", charm="charm-2")
    assert "I18" in log.found(is_at_rest=True)


def test_i22_update_status_waits_for_all_else(log: Recorded) -> None:
    log.tell("web/0", "update-status")
    assert log.found() == set()
    log.application("web", config_version=2)
    log.tell("web/0", "collect-metrics", "update-status")
    assert log.found() == {"I22"}


def test_i22_update_status_waits_for_an_upgrade(log: Recorded) -> None:
    log.application("web", charm="charm-2")
    log.tell("web/0", "collect-metrics", "update-status", charm="charm-1")
    assert log.found() == {"I22"}


def test_i22_what_was_asked_for_while_it_was_granted_need_not_be_known(log: Recorded) -> None:
    running = log.grant("web/0", "collect-metrics")
    log.application("web", config_version=2)
    log.become(running, EventState.COMMITTED)
    log.tell("web/0", "update-status")
    assert log.found() == set()


def test_i22_no_update_status_comes_once_the_removal_was_asked_for(log: Recorded) -> None:
    log.unit("web/0", life="DYING")
    log.tell("web/0", "update-status")
    assert log.found() >= {"I22", "I30"}


def test_i23_post_comes_after_pre(log: Recorded) -> None:
    log.tell("web/0", "pre-series-upgrade", "update-status", "post-series-upgrade")
    assert log.found() == set()
    log.tell("web/0", "post-series-upgrade")
    assert log.found() == {"I23"}


def test_i23_an_upgrade_is_finished_before_the_next_one(log: Recorded) -> None:
    log.tell("web/0", "pre-series-upgrade", "pre-series-upgrade")
    assert log.found() == {"I23"}


def test_i24_a_storage_is_detached_once(log: Recorded) -> None:
    log.storage("data/0", "web/0")
    log.tell("web/0", "storage-attached", "storage-detaching", storage="data/0")
    assert log.found() == set()
    log.tell("web/0", "storage-detaching", storage="data/0")
    assert log.found() == {"I24"}


def test_i24_a_storage_is_attached_once(log: Recorded) -> None:
    log.storage("data/0", "web/0")
    log.tell("web/0", "storage-attached", "storage-attached", storage="data/0")
    assert log.found() == {"I24"}


def test_i24_what_was_attached_is_detached_in_the_end(log: Recorded) -> None:
    log.storage("data/0", "web/0")
    log.tell("web/0", "storage-attached", storage="data/0")
    log.unit("web/0", life="DYING")
    log.tell("web/0", *TEARDOWN)
    log.unit("web/0", life="DEAD")
    assert log.found() == {"I24"}


def test_i24_what_is_there_is_attached(log: Recorded) -> None:
    log.storage("data/0", "web/0")
    assert "I24" in log.found(is_at_rest=True)


def test_i26_a_configuration_is_seen_by_the_last_attempt(log: Recorded) -> None:
    log.application("web", config_version=2)
    changing = log.grant("web/0", "config-changed")
    log.application("web", config_version=3)
    log.become(changing, EventState.ERROR)
    log.become(changing, EventState.RUNNING, attempt=2)
    log.become(changing, EventState.COMMITTED)
    assert log.found() == {"I26"}


def test_i26_the_configuration_of_today_is_seen(log: Recorded) -> None:
    log.application("web", config_version=2)
    assert "I26" in log.found(is_at_rest=True)
    log.tell("web/0", "config-changed")
    assert "I26" not in log.found(is_at_rest=True)


def test_i26_a_unit_never_sees_an_older_configuration(log: Recorded) -> None:
    log.application("web", config_version=2)
    log.tell("web/0", "config-changed")
    log.tell("web/0", "config-changed", config=1)
    assert log.found() == {"I26"}
