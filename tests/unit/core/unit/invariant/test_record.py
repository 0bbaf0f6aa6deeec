"""What an audit reads of a log, and what it leaves out."""

from dataclasses import replace

import pytest
from unit.core.unit_log import SETUP, Recorded

from tinkwell.core.unit.invariant import audit, gather
from tinkwell.core.unit.invariant.record import read
from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.world import LogEntry


def test_what_is_not_about_units_is_passed_over() -> None:
    entries = [LogEntry(1, "TEMPLATE", "CREATED", "one", "", {}), LogEntry(2, "CHARM", "CREATED", "two", "", {})]
    assert audit(entries) == []


def test_a_status_is_no_step_of_a_life() -> None:
    log = Recorded()
    log.started("web/0")
    log.unit("web/0", change="UNIT_STATUS_CHANGED")
    assert len(gather(log.entries).units[0].records) == 1


def test_events_that_are_deleted_with_time_did_happen() -> None:
    log = Recorded()
    log.started("web/0")
    first = next(entry for entry in log.entries if entry.resource_type == "UNIT_EVENT")
    log.entries.append(replace(first, revision=len(log.entries) + 1, event_type="DELETED"))
    assert log.found() == set()


@pytest.mark.parametrize("missing", ["unit", "kind", "ordinal", "seen"])
def test_data_that_are_wrong_are_named(missing: str) -> None:
    log = Recorded()
    log.started("web/0")
    entry = log.entries[2]
    with pytest.raises(ValueError, match="the data of revision 3, UNIT_EVENT UNIT_EVENT_RUNNING, are wrong"):
        read(replace(entry, data={**entry.data, missing: []}))


def test_a_life_that_began_before_the_log_is_left_out() -> None:
    log = Recorded()
    log.started("web/0")
    rest = log.entries[2:]
    history = gather(rest)
    assert (history.units, history.applications) == ([], [])
    assert audit(rest) == []


def test_another_namespace_is_left_out() -> None:
    log = Recorded()
    log.application("web", namespace="other")
    log.unit("web/0", namespace="other")
    log.tell("web/0", "start")
    assert log.found() == set()
    assert audit(log.entries, namespace="other") != []


def test_a_name_that_is_given_again_has_another_life() -> None:
    log = Recorded()
    for _ in range(2):
        log.application("web")
        log.unit("web/0")
        log.tell("web/0", *SETUP)
        log.unit("web/0", life="DEAD", forced=True)
        log.unit("web/0", change="DELETED")
        log.application("web", change="DELETED")
        log.again("web")
    assert [unit.name for unit in gather(log.entries).units] == ["web/0", "web/0"]
    assert log.found() == set()


def test_a_violation_says_what_is_wrong_and_where() -> None:
    log = Recorded()
    log.started("web/0")
    log.relation(1, "web:R", "pg:R")
    log.tell("web/0", "relation-joined", relation=1, endpoint="db", remote="pg/0")
    assert [str(violation) for violation in log.violations()] == [
        "I11: web/0 #4 db-relation-joined (pg/0) at revision 11: no relation-created came before it"
    ]


def test_an_event_of_storage_is_named_by_it() -> None:
    log = Recorded()
    log.started("web/0")
    log.tell("web/0", EventKind.STORAGE_ATTACHED, storage="data/3")
    assert gather(log.entries).units[0].stream[-1].record.name == "data-storage-attached (data/3)"
