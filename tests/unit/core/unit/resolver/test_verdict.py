"""What becomes of events that failed or were lost: each row of the table."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.unit_life import ALIVE, DYING, STARTED, V1, V2, member, members, relation, relations, started, told, view

from tinkwell.core.unit.kinds import EventKind, Life, Membership, Verdict
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.resolver.sight import sighted
from tinkwell.core.unit.resolver.verdict import verdict
from tinkwell.core.unit.unit_event import Seen, UnitEvent
from tinkwell.core.unit.view import View

RETRY, SKIP, WITHDRAW = Verdict
FINE = view(relations=relations(relation(members=members("pg/0", version=3))), leader="web/0", term=2)
GONE = replace(FINE, relations={})
OVER = replace(FINE, relations=relations(relation(life=DYING)))
LEFT = replace(FINE, relations=relations(relation(members=members("pg/0", membership=Membership.LEFT))))
ENDS = replace(FINE, life=DYING)
KNOWN = started({3: told("pg/0")})


def of(kind: EventKind, **about: Any) -> UnitEvent:
    return replace(UnitEvent(kind=kind, seen=Seen(term=2)), **about)


CREATED = of(EventKind.RELATION_CREATED, relation=3)
JOINED = of(EventKind.RELATION_JOINED, relation=3, unit="pg/0")
CHANGED = of(EventKind.RELATION_CHANGED, relation=3, unit="pg/0")
BAG_CHANGED = of(EventKind.RELATION_CHANGED, relation=3)
ECHO = of(EventKind.RELATION_CHANGED, relation=3, unit="web/0", is_echo=True)
DEPARTED = of(EventKind.RELATION_DEPARTED, relation=3, unit="pg/0")
BROKEN = of(EventKind.RELATION_BROKEN, relation=3)
ELECTED = of(EventKind.LEADER_ELECTED)
SETTINGS = of(EventKind.LEADER_SETTINGS_CHANGED)
ATTACHED = of(EventKind.STORAGE_ATTACHED, storage="data/0")
DETACHING = of(EventKind.STORAGE_DETACHING, storage="data/0")
START, STOP, REMOVE = of(EventKind.START), of(EventKind.STOP), of(EventKind.REMOVE)
INSTALL, CONFIG, UPGRADE = of(EventKind.INSTALL), of(EventKind.CONFIG_CHANGED), of(EventKind.UPGRADE_CHARM)
TICK = of(EventKind.UPDATE_STATUS)

FORCED_PAIR = replace(KNOWN, queue=(CHANGED,))
FORCED_CHAIN = replace(KNOWN, queue=(CONFIG, START))


@pytest.mark.parametrize(
    ("event", "ledger", "seen", "expected"),
    [
        (CHANGED, FORCED_PAIR, FINE, RETRY),
        (CHANGED, FORCED_PAIR, LEFT, RETRY),
        (CHANGED, FORCED_PAIR, OVER, SKIP),
        (CHANGED, FORCED_PAIR, GONE, SKIP),
        (CHANGED, FORCED_PAIR, ENDS, SKIP),
        (CONFIG, FORCED_CHAIN, FINE, RETRY),
        (CONFIG, FORCED_CHAIN, ENDS, SKIP),
        (START, replace(KNOWN, queue=(START,)), ENDS, SKIP),
    ],
)
def test_the_second_of_a_pair_or_chain_is_skipped_when_its_unit_or_relation_goes(
    event: UnitEvent, ledger: Ledger, seen: View, expected: Verdict
) -> None:
    assert verdict(event, ledger, seen) is expected


@pytest.mark.parametrize("event", [DEPARTED, BROKEN, DETACHING, STOP, REMOVE])
def test_teardown_is_always_tried_again(event: UnitEvent) -> None:
    for seen in (FINE, GONE, OVER, LEFT, ENDS):
        assert verdict(event, KNOWN, seen) is RETRY


@pytest.mark.parametrize(
    "event", [CREATED, JOINED, CHANGED, ELECTED, SETTINGS, ATTACHED, INSTALL, CONFIG, UPGRADE, TICK]
)
def test_all_other_events_of_a_dying_unit_are_withdrawn(event: UnitEvent) -> None:
    assert verdict(event, KNOWN, ENDS) is WITHDRAW


@pytest.mark.parametrize(
    ("event", "changes", "expected"),
    [
        (ELECTED, {}, RETRY),
        (ELECTED, {"term": 3}, WITHDRAW),
        (ELECTED, {"leader": "web/1", "term": 3}, WITHDRAW),
        (ELECTED, {"leader": ""}, WITHDRAW),
        (SETTINGS, {}, WITHDRAW),
        (SETTINGS, {"leader": "web/1"}, RETRY),
        (SETTINGS, {"leader": ""}, RETRY),
    ],
)
def test_an_event_of_leadership_goes_with_who_leads(
    event: UnitEvent, changes: dict[str, Any], expected: Verdict
) -> None:
    assert verdict(event, STARTED, replace(FINE, **changes)) is expected


@pytest.mark.parametrize(
    ("event", "ledger", "seen", "expected"),
    [
        (CREATED, STARTED, FINE, RETRY),
        (CREATED, STARTED, OVER, WITHDRAW),
        (CREATED, STARTED, GONE, WITHDRAW),
        (JOINED, KNOWN, FINE, RETRY),
        (JOINED, KNOWN, OVER, WITHDRAW),
        (JOINED, KNOWN, LEFT, WITHDRAW),
        (JOINED, KNOWN, replace(FINE, relations=relations(relation())), WITHDRAW),
        (CHANGED, KNOWN, FINE, RETRY),
        (CHANGED, KNOWN, OVER, WITHDRAW),
        (CHANGED, KNOWN, LEFT, WITHDRAW),
        (BAG_CHANGED, KNOWN, LEFT, RETRY),
        (BAG_CHANGED, KNOWN, OVER, WITHDRAW),
        (ECHO, KNOWN, FINE, RETRY),
        (ECHO, started({3: told()}), FINE, WITHDRAW),
        (ECHO, started({3: told(older=("web/1",))}), FINE, WITHDRAW),
        (ECHO, KNOWN, OVER, WITHDRAW),
    ],
)
def test_an_event_of_a_relation_goes_with_the_relation_and_with_whom_it_tells_of(
    event: UnitEvent, ledger: Ledger, seen: View, expected: Verdict
) -> None:
    assert verdict(event, ledger, seen) is expected


@pytest.mark.parametrize(
    ("storages", "expected"), [({"data/0": ALIVE}, RETRY), ({"data/0": DYING}, WITHDRAW), ({}, WITHDRAW)]
)
def test_storage_attached_goes_with_its_storage(storages: dict[str, Life], expected: Verdict) -> None:
    assert verdict(ATTACHED, Ledger(), view(storages=storages)) is expected


@pytest.mark.parametrize(
    "kind",
    [
        EventKind.INSTALL,
        EventKind.CONFIG_CHANGED,
        EventKind.START,
        EventKind.UPGRADE_CHARM,
        EventKind.PRE_SERIES_UPGRADE,
        EventKind.POST_SERIES_UPGRADE,
        EventKind.COLLECT_METRICS,
        EventKind.UPDATE_STATUS,
    ],
)
def test_every_other_event_of_a_living_unit_is_tried_again(kind: EventKind) -> None:
    assert verdict(of(kind), STARTED, GONE) is RETRY


@pytest.mark.parametrize(
    ("event", "has_failed", "charm"),
    [
        (CONFIG, False, V1),
        (CONFIG, True, V2),
        (UPGRADE, False, V2),
        (UPGRADE, True, V2),
        (INSTALL, False, V1),
        (INSTALL, True, V2),
    ],
)
def test_a_further_attempt_runs_on_new_code_if_the_event_failed_and_sees_what_there_is_today(
    event: UnitEvent, has_failed: bool, charm: str
) -> None:
    seen = replace(FINE, charm=V2, config_version=8)
    assert sighted(event, seen, has_failed=has_failed).seen == Seen(config=8, charm=charm, term=2)


def test_an_attempt_tells_of_the_bag_that_there_is_today() -> None:
    assert sighted(CHANGED, FINE).seen.bag == 3
    assert sighted(replace(CHANGED, unit="pg/7"), FINE).seen.bag == 0
    own = replace(FINE, relations=relations(relation(own_version=5, members={"pg/0": member()})))
    assert sighted(ECHO, own).seen.bag == 5
    assert sighted(CHANGED, GONE).seen.bag == 0
