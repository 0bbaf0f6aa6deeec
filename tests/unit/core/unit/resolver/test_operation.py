"""What a unit that has started is told, and in which order."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.unit_life import (
    ALIVE,
    DEAD,
    DYING,
    JUJU,
    LITERAL,
    STARTED,
    V1,
    V2,
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

from tinkwell.core.unit.kinds import EventKind, Membership, Profile
from tinkwell.core.unit.ledger import Ledger, RelationLedger, Requests, Written
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.resolver.resolve import next_event
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import RelationView, View

EVERYTHING = view(
    relations=relations(
        relation(3, members("pg/0", version=2)),
        relation(4, endpoint="log", application="loki"),
    ),
    leader="web/0",
    term=1,
    storages={"data/0": ALIVE, "old/0": DYING},
    requests=Requests(prepared=1, finished=1, metrics=1),
    charm=V2,
    config_version=2,
    is_tick_due=True,
)


def test_what_is_due_at_once_comes_in_the_order_of_the_rules() -> None:
    ledger = started({3: told("pg/0")}, attached=frozenset({"old/0"}))
    assert following(ledger, EVERYTHING) == [
        "log-relation-created #4",
        "leader-elected",
        "data-storage-attached data/0",
        "old-storage-detaching old/0",
        "pre-series-upgrade",
        "post-series-upgrade",
        "collect-metrics",
        "upgrade-charm",
        "config-changed",
        "start",
        "db-relation-changed pg/0",
        "update-status",
    ]


@pytest.mark.parametrize(
    "seen", [replace(EVERYTHING, is_held=True), replace(EVERYTHING, life=DEAD)], ids=["held", "dead"]
)
def test_nothing_is_granted_while_a_machine_is_held_or_after_the_end(seen: View) -> None:
    assert due(STARTED, seen) == ""


def test_a_removed_unit_gets_nothing() -> None:
    assert due(replace(STARTED, removed=True), EVERYTHING) == ""


def test_the_second_of_a_pair_comes_before_anything_else_also_if_the_unit_is_to_be_removed_meanwhile() -> None:
    seen = view(relations=relations(relation(members=members("pg/0", "pg/1"))))
    first = next_event(started({3: told()}), seen)
    assert first
    ledger = advance(started({3: told()}), first, seen)
    assert following(ledger, replace(seen, life=DYING, config_version=9)) == [
        "db-relation-changed pg/0",
        "db-relation-departed pg/0",
        "db-relation-broken",
        "stop",
        "remove",
    ]


@pytest.mark.parametrize(
    ("ledger", "changes", "expected"),
    [
        (started(), {"leader": "web/0", "term": 2}, "leader-elected"),
        (started(led_term=1), {"leader": "web/0", "term": 2}, "leader-elected"),
        (started(led_term=2), {"leader": "web/0", "term": 2, "announced_term": 2}, ""),
        (started(), {"leader": "web/1", "term": 2}, ""),
        (started(), {"leader": "web/1", "term": 2, "announced_term": 2}, "leader-settings-changed"),
        (started(settings_term=1), {"leader": "", "term": 2, "announced_term": 2}, "leader-settings-changed"),
        (started(settings_term=2), {"leader": "web/1", "term": 2, "announced_term": 2}, ""),
    ],
)
def test_a_leader_is_elected_once_a_term_and_others_hear_of_a_term_that_is_announced(
    ledger: Ledger, changes: dict[str, Any], expected: str
) -> None:
    assert due(ledger, view(**changes)) == expected


def test_a_leader_does_not_hear_of_its_own_term_when_another_one_leads() -> None:
    leads = view(leader="web/0", term=5)
    elected = next_event(STARTED, leads)
    assert elected
    ledger = advance(STARTED, elected, leads)
    assert due(ledger, replace(leads, leader="web/1", term=6, announced_term=5)) == ""
    assert due(ledger, replace(leads, leader="web/1", term=6, announced_term=6)) == "leader-settings-changed"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (Requests(prepared=1), ["pre-series-upgrade"]),
        (Requests(prepared=1, finished=1), ["pre-series-upgrade", "post-series-upgrade"]),
        (Requests(prepared=2, finished=1), ["pre-series-upgrade", "post-series-upgrade", "pre-series-upgrade"]),
        (Requests(metrics=2), ["collect-metrics", "collect-metrics"]),
    ],
)
def test_each_half_of_a_series_upgrade_comes_once_and_the_second_one_after_the_first(
    asked: Requests, expected: list[str]
) -> None:
    assert following(STARTED, view(requests=asked)) == expected


def test_an_upgrade_is_followed_by_the_configuration_and_start_on_the_new_code() -> None:
    seen = view(charm=V2, relations=relations(relation(members=members("pg/0"))))
    ledger = started({3: told()})
    charms = []
    for _ in range(3):
        event = next_event(ledger, seen)
        assert event
        charms.append((event.name, event.seen.charm))
        ledger = advance(ledger, event, seen)
        seen = replace(seen, code=event.seen.charm)
    assert charms == [("upgrade-charm", V2), ("config-changed", V2), ("start", V2)]
    assert ledger.charm_seen == V2


def test_until_its_upgrade_a_unit_runs_on_the_code_that_it_has() -> None:
    event = next_event(started(settings_term=0), view(charm=V2, leader="web/1", announced_term=1))
    assert event
    assert (event.kind, event.seen.charm) == (EventKind.LEADER_SETTINGS_CHANGED, V1)


def test_a_new_relation_waits_for_what_a_dying_one_of_its_endpoint_owes() -> None:
    dying = relation(3, members("pg/0", "pg/1"), life=DYING)
    other = relation(2, endpoint="log", life=DYING)
    seen = view(relations=relations(dying, other, relation(8)))
    assert following(started({3: told("pg/1", "pg/0"), 2: told()}), seen) == [
        "db-relation-departed pg/0",
        "db-relation-departed pg/1",
        "db-relation-broken",
        "db-relation-created #8",
        "log-relation-broken #2",
    ]


def test_a_living_relation_of_the_same_endpoint_owes_a_new_one_nothing() -> None:
    seen = view(relations=relations(relation(3, members("pg/0")), relation(8)))
    assert following(started({3: told("pg/0")}), seen) == ["db-relation-created #8"]


@pytest.mark.parametrize(
    ("shown", "known", "expected"),
    [
        (relation(members=members("pg/10", "pg/9")), told(), ["joined pg/9", "changed pg/9", "joined pg/10"]),
        (relation(members=members("pg/0", membership=Membership.ENTERING)), told(), []),
        (relation(members=members("pg/0", is_leaving=True, owes=True)), told(), []),
        (relation(members=members("pg/0", version=3)), told("pg/0", seen=2), ["changed pg/0"]),
        (relation(members=members("pg/0", version=3)), told("pg/0", seen=3), []),
        (relation(members=members("pg/0", version=3, is_leaving=True, owes=True)), told("pg/0"), ["changed pg/0"]),
        (relation(members=members("pg/0", version=3, is_leaving=True)), told("pg/0"), ["departed pg/0"]),
        (relation(members=members("pg/0", membership=Membership.LEFT)), told("pg/0"), ["departed pg/0"]),
        (relation(members=members("pg/0", membership=Membership.LEFT)), told(), []),
        (relation(), told("pg/0"), ["departed pg/0"]),
        (relation(application_version=1), told(), ["changed"]),
        (relation(application_version=1), told(application_version=1), []),
        (relation(members=members("web/1", version=3)), told(older=("web/1",)), []),
        (relation(members=members("web/1", entered=2)), told(), []),
        (relation(members=members("web/1", entered=3)), told(), []),
        (relation(members=members("pg/0"), life=DYING), told(), ["broken"]),
        (relation(members=members("pg/0"), life=DYING), told("pg/0"), ["departed pg/0", "broken"]),
        (
            relation(
                members={
                    "pg/0": member(version=1),
                    "pg/1": member("pg/1"),
                    "pg/2": member("pg/2", membership=Membership.LEFT),
                },
                application_version=1,
            ),
            told("pg/0", "pg/2"),
            ["departed pg/2", "joined pg/1", "changed pg/1", "changed pg/0", "changed"],
        ),
    ],
)
def test_a_relation_tells_who_left_who_joined_and_what_changed(
    shown: RelationView, known: RelationLedger, expected: list[str]
) -> None:
    labels = following(replace(STARTED, relations={3: known}), view(relations=relations(shown)))
    assert labels[: len(expected) or 1] == [f"db-relation-{each}" for each in expected]


SIBLINGS = {"web/1": member("web/1", entered=2), "web/2": member("web/2", entered=9)}


@pytest.mark.parametrize(("profile", "expected"), [(LITERAL, ["joined web/2", "changed web/2"]), (JUJU, [])])
def test_only_the_literal_profile_announces_siblings_and_only_later_ones(profile: Profile, expected: list[str]) -> None:
    seen = view(profile=profile, relations=relations(relation(members=SIBLINGS)))
    new = replace(seen, relations=relations(relation(members=SIBLINGS, membership=None, entered=0)))
    created = next_event(STARTED, new)
    assert created
    ledger = advance(
        STARTED, created, replace(new, relations=relations(relation(members={"web/1": SIBLINGS["web/1"]})))
    )
    assert following(ledger, seen) == [f"db-relation-{each}" for each in expected]


def test_an_older_sibling_that_leaves_is_mirrored_but_not_one_that_had_left_or_not_entered_before() -> None:
    gone = member("web/3", is_leaving=True)
    entering = member("web/4", membership=Membership.ENTERING)
    others = {"web/3": gone, "web/4": entering, "pg/0": member()}
    new = view(relations=relations(relation(members=SIBLINGS | others)))
    ledger = advance(STARTED, UnitEvent(kind=EventKind.RELATION_CREATED, relation=3, endpoint="db"), new)
    assert ledger.relations[3] == told(older=("web/1", "web/2"))
    left = replace(SIBLINGS["web/1"], membership=Membership.LEFT)
    shown = view(relations=relations(relation(members={"web/1": left, "web/2": SIBLINGS["web/2"]})))
    event = next_event(ledger, shown)
    assert event
    assert (event.name, event.unit, event.is_mirrored) == ("db-relation-departed", "web/1", True)
    assert (event.application, event.departing_unit) == ("web", "web/1")
    assert following(advance(ledger, event, shown), shown) == []


def test_a_peer_that_was_there_first_is_no_older_sibling() -> None:
    new = view(relations=relations(peer(members=SIBLINGS)))
    ledger = advance(STARTED, UnitEvent(kind=EventKind.RELATION_CREATED, relation=1, endpoint="cluster"), new)
    assert ledger.relations[1].members == {}


def test_a_peer_relation_announces_all_peers_whenever_they_entered() -> None:
    for profile in (LITERAL, JUJU):
        seen = view(profile=profile, relations=relations(peer(members=SIBLINGS)))
        assert following(started({1: told()}), seen) == [
            "cluster-relation-joined web/1",
            "cluster-relation-changed web/1",
            "cluster-relation-joined web/2",
            "cluster-relation-changed web/2",
        ]


@pytest.mark.parametrize(
    ("profile", "shown", "known", "expected"),
    [
        (LITERAL, relation(members=members("pg/0"), own_version=2), told("pg/0"), "db-relation-changed web/0 echo"),
        (LITERAL, relation(members=members("pg/0"), own_version=2), told("pg/0", own_version=2), ""),
        (LITERAL, relation(own_version=2), told(), ""),
        (LITERAL, relation(members=members("web/1"), own_version=2), told(older=("web/1",)), ""),
        (LITERAL, peer(members=members("web/1"), own_version=2), told("web/1"), ""),
        (JUJU, relation(members=members("pg/0"), own_version=2), told("pg/0"), ""),
    ],
)
def test_a_unit_hears_its_own_write_in_the_literal_profile_while_it_has_members(
    profile: Profile, shown: RelationView, known: RelationLedger, expected: str
) -> None:
    ledger = replace(STARTED, relations={shown.number: known})
    assert due(ledger, view(profile=profile, relations=relations(shown))) == expected


def test_a_write_of_a_handler_of_the_relation_is_not_echoed_and_does_not_hide_an_earlier_one() -> None:
    """Another handler wrote version 1, and one of the relation then version 2."""
    changed = UnitEvent(kind=EventKind.RELATION_CHANGED, relation=3, endpoint="db", unit="pg/0")
    seen = view(relations=relations(relation(members=members("pg/0"), own_version=2)))
    wrote = Written(own=frozenset({3}))
    late = advance(started({3: told("pg/0")}), changed, seen, wrote)
    assert due(late, seen) == "db-relation-changed web/0 echo"
    echo = next_event(late, seen)
    assert echo
    assert due(advance(late, echo, seen), seen) == ""
    assert due(advance(started({3: told("pg/0", own_version=1)}), changed, seen, wrote), seen) == ""


def test_a_write_of_another_handler_is_echoed() -> None:
    seen = view(relations=relations(relation(members=members("pg/0"), own_version=1)))
    tick = UnitEvent(kind=EventKind.UPDATE_STATUS)
    ledger = advance(started({3: told("pg/0")}), tick, seen, Written(own=frozenset({3})))
    assert due(ledger, seen) == "db-relation-changed web/0 echo"


def test_who_wrote_its_applications_bag_of_a_peer_relation_is_not_told_and_others_are() -> None:
    seen = view(leader="web/0", relations=relations(peer(application_version=1)))
    tick = UnitEvent(kind=EventKind.UPDATE_STATUS)
    wrote = advance(started({1: told()}), tick, seen, Written(peer_application=frozenset({1})))
    assert due(wrote, seen) == ""
    assert due(started({1: told()}), replace(seen, leader="web/1")) == "cluster-relation-changed"


def test_a_new_leader_is_told_what_the_last_one_wrote_but_not_in_profile_juju() -> None:
    seen = view(leader="web/0", relations=relations(peer(application_version=1)))
    assert due(started({1: told()}), seen) == "cluster-relation-changed"
    assert due(started({1: told()}), replace(seen, profile=JUJU)) == ""
    assert due(started({1: told()}), replace(seen, profile=JUJU, leader="web/1")) == "cluster-relation-changed"
    other = view(profile=JUJU, leader="web/0", relations=relations(relation(application_version=1)))
    assert due(started({3: told()}), other) == "db-relation-changed"


@pytest.mark.parametrize(
    ("changes", "departing"),
    [({}, "pg/0"), ({"life": DYING}, "web/0"), ({"life": DYING, "application_life": DYING}, "web/0")],
)
def test_the_departing_unit_is_the_one_that_goes(changes: dict[str, Any], departing: str) -> None:
    shown = relation(members=members("pg/0"), life=DYING)
    event = next_event(started({3: told("pg/0")}), view(relations=relations(shown), **changes))
    assert event
    assert (event.unit, event.departing_unit) == ("pg/0", departing)


def test_a_configuration_that_was_changed_twice_is_told_once() -> None:
    assert following(STARTED, view(config_version=7)) == ["config-changed"]


def test_an_attempt_sees_the_bag_of_whom_it_tells_of() -> None:
    shown = relation(members=members("pg/0", version=4), application_version=5, own_version=6)
    seen = view(relations=relations(shown))
    bags = []
    ledger = started({3: told("pg/0")})
    while event := next_event(ledger, seen):
        bags.append(event.seen.bag)
        ledger = advance(ledger, event, seen)
    assert bags == [4, 5, 6]
