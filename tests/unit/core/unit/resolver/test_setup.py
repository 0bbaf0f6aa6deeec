"""The setup of a unit: what it is told before and until `start`."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.unit_life import (
    ALIVE,
    DYING,
    V2,
    due,
    following,
    label,
    members,
    peer,
    relation,
    relations,
    view,
)

from tinkwell.core.unit.kinds import EventKind, StepKind
from tinkwell.core.unit.ledger import Ledger, SetupStep
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.resolver.resolve import awaits_leader, is_owed_nothing, next_event
from tinkwell.core.unit.view import View

NEW = Ledger()
ALL = view(
    storages={"data/10": ALIVE, "data/9": ALIVE},
    relations=relations(relation(7), peer()),
    leader="web/0",
    term=1,
    announced_term=0,
    is_tick_due=True,
)
BORN = ["data-storage-attached data/9", "data-storage-attached data/10", "install"]
CREATED = ["cluster-relation-created", "db-relation-created #7"]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (view(), ["install", "config-changed", "start"]),
        (ALL, [*BORN, *CREATED, "leader-elected", "config-changed", "start", "update-status"]),
        (replace(ALL, leader="web/1"), [*BORN, *CREATED, "leader-settings-changed", "config-changed", "start"]),
        (replace(ALL, leader="", term=4, announced_term=4), [*BORN, *CREATED, "config-changed", "start"]),
        (replace(ALL, relations={}, storages={"data/9": DYING}), ["install", "leader-elected"]),
        (replace(ALL, relations=relations(relation(life=DYING), peer())), [*BORN, CREATED[0], "leader-elected"]),
    ],
    ids=["nothing else", "all that there is", "another leader", "nobody leads", "a dying storage", "a dying relation"],
)
def test_a_setup_has_storages_install_relations_leader_configuration_and_start(seen: View, expected: list[str]) -> None:
    assert following(NEW, seen)[: len(expected)] == expected


def committed_until(seen: View, last: str, ledger: Ledger = NEW) -> Ledger:
    while True:
        event = next_event(ledger, seen)
        assert event
        ledger = advance(ledger, event, seen)
        if label(event) == last:
            return ledger


@pytest.mark.parametrize(
    ("since", "changes", "expected"),
    [
        ("install", {"relations": relations(relation(8), relation(7))}, ["db-relation-created #7", "config-changed"]),
        ("install", {"relations": {}}, ["config-changed", "start"]),
        ("install", {"relations": relations(relation(7, life=DYING))}, ["config-changed", "start"]),
        ("install", {"charm": V2}, ["db-relation-created #7", "config-changed", "start", "upgrade-charm"]),
        ("install", {"config_version": 5}, ["db-relation-created #7", "config-changed", "start"]),
        ("config-changed", {"config_version": 5}, ["start", "config-changed"]),
        ("config-changed", {"leader": "web/0", "term": 2}, ["start", "leader-elected"]),
        ("config-changed", {"storages": {"data/0": ALIVE}}, ["start", "data-storage-attached data/0"]),
        ("config-changed", {"is_tick_due": True}, ["start", "update-status"]),
    ],
)
def test_what_changes_during_a_setup_comes_into_a_step_still_to_come_or_after_start(
    since: str, changes: dict[str, Any], expected: list[str]
) -> None:
    first = view(relations=relations(relation(7)))
    ledger = committed_until(first, since)
    assert following(ledger, replace(first, **changes))[: len(expected)] == expected


def test_a_relation_that_came_during_the_setup_is_created_after_start() -> None:
    ledger = committed_until(view(), "install")
    late = view(relations=relations(relation(8, members("pg/0"))))
    assert following(ledger, late) == [
        "config-changed",
        "start",
        "db-relation-created #8",
        "db-relation-joined #8 pg/0",
        "db-relation-changed #8 pg/0",
    ]


def test_the_setup_records_the_term_that_was_announced_so_that_the_next_one_is_told_again() -> None:
    seen = view(leader="web/1", term=3, announced_term=2)
    ledger = committed_until(seen, "start")
    assert ledger.settings_term == 2
    assert due(ledger, seen) == ""
    assert due(ledger, replace(seen, announced_term=3)) == "leader-settings-changed"


def test_a_plan_has_the_relations_that_lived_when_install_was_committed_in_the_order_of_their_numbers() -> None:
    seen = view(relations=relations(relation(9), relation(4, life=DYING), relation(2)))
    assert committed_until(seen, "install").plan == (
        SetupStep(StepKind.RELATION_CREATED, 2),
        SetupStep(StepKind.RELATION_CREATED, 9),
        SetupStep(StepKind.LEADER),
        SetupStep(StepKind.CONFIG_CHANGED),
        SetupStep(StepKind.START),
    )


def test_a_step_that_does_not_apply_any_more_goes_with_the_next_one_that_does() -> None:
    ledger = committed_until(view(relations=relations(relation(2), relation(9))), "install")
    later = view(relations=relations(relation(2, life=DYING), relation(9)))
    assert [step.kind for step in committed_until(later, "db-relation-created #9", ledger).plan] == [
        StepKind.LEADER,
        StepKind.CONFIG_CHANGED,
        StepKind.START,
    ]


@pytest.mark.parametrize(
    ("since", "changes", "expected"),
    [
        ("install", {}, False),
        ("db-relation-created", {}, True),
        ("install", {"relations": {}}, True),
        ("db-relation-created", {"leader": "web/1"}, False),
        ("db-relation-created", {"life": DYING}, False),
        ("db-relation-created", {"application_life": DYING}, False),
        ("db-relation-created", {"is_held": True}, False),
        ("config-changed", {}, False),
        ("start", {}, False),
    ],
)
def test_an_election_comes_before_the_leader_step_if_nobody_leads(
    since: str, changes: dict[str, Any], expected: bool
) -> None:
    seen = view(relations=relations(relation()))
    assert awaits_leader(committed_until(seen, since), replace(seen, **changes)) is expected


def test_a_unit_that_is_removed_before_it_is_installed_gets_its_storage_back_and_nothing_else() -> None:
    ledger = committed_until(ALL, "data-storage-attached data/9")
    dying = replace(ALL, life=DYING)
    assert following(ledger, dying) == ["data-storage-detaching data/9"]
    assert not is_owed_nothing(ledger, dying)
    assert is_owed_nothing(NEW, dying)
    assert not is_owed_nothing(NEW, ALL)


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("install", ["remove"]),
        ("db-relation-created", ["db-relation-broken", "remove"]),
        ("config-changed", ["db-relation-broken", "remove"]),
        ("start", ["db-relation-broken", "stop", "remove"]),
    ],
)
def test_a_setup_that_is_cut_short_has_a_teardown_of_what_it_got_to(since: str, expected: list[str]) -> None:
    seen = view(relations=relations(relation(), peer()))
    assert following(committed_until(seen, since), replace(seen, life=DYING)) == expected


def test_a_setup_sees_the_configuration_and_the_code_of_each_grant() -> None:
    seen = view(code="", charm=V2, config_version=4)
    first = next_event(NEW, seen)
    assert first
    assert (first.kind, first.seen.charm, first.seen.config) == (EventKind.INSTALL, V2, 4)
    assert advance(NEW, first, seen).charm_seen == V2
