"""What a unit is told when it is removed."""

from typing import Any

import pytest
from unit.core.unit_life import (
    ALIVE,
    DYING,
    JUJU,
    due,
    following,
    member,
    members,
    peer,
    relation,
    relations,
    started,
    told,
    view,
)

from tinkwell.core.unit.kinds import EventKind, Leaving, Reason
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.resolver.explanation import Ground, ground
from tinkwell.core.unit.resolver.resolve import is_owed_nothing, next_event
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import MemberView, View

SHOWN = relations(
    peer(members=members("web/1", "web/2")),
    relation(3, members("pg/1", "pg/0")),
    relation(4, members("loki/0", version=9), endpoint="log", application="loki"),
)
TOLD = {1: told("web/2", "web/1"), 3: told("pg/1", "pg/0", older=("web/1",)), 4: told()}


def test_a_teardown_ends_relations_then_peers_then_storages_then_the_unit() -> None:
    dying = view(
        life=DYING, relations=SHOWN, storages={"data/0": ALIVE}, config_version=9, leader="web/0", term=3, charm="x"
    )
    assert following(started(TOLD, attached=frozenset({"data/10", "data/9"})), dying) == [
        "db-relation-departed pg/0",
        "db-relation-departed pg/1",
        "db-relation-broken",
        "log-relation-broken #4",
        "cluster-relation-departed web/1",
        "cluster-relation-departed web/2",
        "data-storage-detaching data/9",
        "data-storage-detaching data/10",
        "stop",
        "remove",
    ]


def test_a_relation_that_was_never_created_or_is_broken_owes_nothing() -> None:
    dying = view(life=DYING, relations=SHOWN)
    assert following(started({4: told(broken=True)}), dying) == ["stop", "remove"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (member("web/1"), ""),
        (member("web/1", is_leaving=True, owes=True), ""),
        (member("web/1", is_leaving=True), "cluster-relation-departed web/1"),
    ],
)
def test_others_hear_of_a_leaver_after_it_has_left_itself(shown: MemberView, expected: str) -> None:
    seen = view(relations=relations(peer(members={"web/1": shown})))
    assert due(started({1: told("web/1")}), seen) == expected


def test_two_peers_that_leave_at_once_do_not_wait_for_each_other() -> None:
    leaving = members("web/1", is_leaving=True, owes=True)
    dying = view(life=DYING, profile=JUJU, relations=relations(peer(members=leaving)))
    assert following(started({1: told("web/1")}), dying) == ["cluster-relation-departed web/1", "stop", "remove"]


def test_a_unit_is_owed_nothing_after_remove_but_before_that_also_what_must_follow_its_last_event() -> None:
    dying = view(life=DYING)
    assert not is_owed_nothing(started(stopped=True), dying)
    assert is_owed_nothing(started(stopped=True, removed=True), dying)
    assert not is_owed_nothing(Ledger(queue=(UnitEvent(kind=EventKind.START),)), dying)


OWN: dict[str, Any] = {"life": DYING}
APPLICATION: dict[str, Any] = {"life": DYING, "application_life": DYING}
LEFT = member(is_leaving=True)
FORCED = member(is_forced=True, is_leaving=True)


@pytest.mark.parametrize(
    ("ledger", "seen", "reason", "leaving"),
    [
        (started(), view(**OWN), Reason.UNIT_REMOVED, Leaving.SELF),
        (started(), view(**APPLICATION), Reason.APPLICATION_REMOVED, Leaving.SELF),
        (
            started({3: told("pg/0")}),
            view(relations=relations(relation(members={"pg/0": LEFT}))),
            Reason.UNIT_REMOVED,
            Leaving.REMOTE,
        ),
        (
            started({3: told("pg/0")}),
            view(relations=relations(relation(members={"pg/0": FORCED}))),
            Reason.FORCED,
            Leaving.REMOTE,
        ),
        (
            started({3: told()}),
            view(relations=relations(relation(life=DYING))),
            Reason.RELATION_REMOVED,
            Leaving.RELATION,
        ),
        (
            started({3: told()}),
            view(relations=relations(relation(life=DYING, application_life=DYING))),
            Reason.APPLICATION_REMOVED,
            Leaving.RELATION,
        ),
    ],
)
def test_a_teardown_event_says_why_it_comes_and_who_leaves(
    ledger: Ledger, seen: View, reason: Reason, leaving: Leaving
) -> None:
    event = next_event(ledger, seen)
    assert event
    assert ground(event, seen) == Ground(reason=reason, leaving=leaving)


@pytest.mark.parametrize(
    ("ledger", "seen"),
    [
        (started(), view(config_version=2)),
        (started(attached=frozenset({"data/0"})), view(storages={"data/0": DYING})),
    ],
)
def test_what_takes_nothing_away_and_a_storage_alone_have_no_reason(ledger: Ledger, seen: View) -> None:
    event: UnitEvent | None = next_event(ledger, seen)
    assert event
    assert ground(event, seen) is None
