"""Whatever a unit was told and whatever there is: its events come to an end, and each comes in its phase."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from unit.core.unit_life import ALIVE, DYING, V1, V2

from support.reference.unit_event import phases
from tinkwell.core.unit.kinds import EventKind, Membership, Phase, Profile, Verdict
from tinkwell.core.unit.ledger import Ledger, Requests
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.resolver.resolve import is_owed_nothing, next_event
from tinkwell.core.unit.resolver.verdict import verdict
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import MemberView, RelationView, View

MOST = 200
# What is given, and what takes it away again.
PAIRS = [
    (EventKind.STORAGE_ATTACHED, EventKind.STORAGE_DETACHING),
    (EventKind.RELATION_CREATED, EventKind.RELATION_BROKEN),
    (EventKind.RELATION_JOINED, EventKind.RELATION_DEPARTED),
    (EventKind.INSTALL, EventKind.REMOVE),
]
LIVES = st.sampled_from([ALIVE, DYING])
COUNTS = st.integers(0, 3)


@st.composite
def members(draw: st.DrawFn, units: list[str]) -> dict[str, MemberView]:
    return {
        unit: MemberView(
            application=unit.rpartition("/")[0],
            version=draw(COUNTS),
            entered=draw(st.integers(1, 9)),
            membership=draw(st.sampled_from(Membership)),
            is_leaving=draw(st.booleans()),
            owes=draw(st.booleans()),
        )
        for unit in draw(st.lists(st.sampled_from(units), unique=True))
    }


@st.composite
def relations(draw: st.DrawFn) -> dict[int, RelationView]:
    shown: dict[int, RelationView] = {}
    for number in draw(st.lists(st.integers(1, 4), unique=True)):
        is_peer = number == 1
        units = ["web/1", "web/2"] if is_peer else ["pg/0", "pg/1", "web/1", "web/2"]
        shown[number] = RelationView(
            number=number,
            endpoint="cluster" if is_peer else "db",
            application="web" if is_peer else "pg",
            is_peer=is_peer,
            life=ALIVE if is_peer else draw(LIVES),
            application_version=draw(COUNTS),
            own_version=draw(COUNTS),
            entered=draw(st.integers(1, 9)),
            members=draw(members(units)),
        )
    return shown


@st.composite
def views(draw: st.DrawFn) -> View:
    term = draw(COUNTS)
    finished = draw(COUNTS)
    return View(
        unit="web/0",
        application="web",
        profile=draw(st.sampled_from(Profile)),
        life=draw(st.sampled_from([ALIVE, ALIVE, ALIVE, DYING])),
        config_version=draw(COUNTS),
        charm=draw(st.sampled_from([V1, V2])),
        code=draw(st.sampled_from([V1, V2])),
        leader=draw(st.sampled_from(["", "web/0", "web/1"])),
        term=term,
        announced_term=draw(st.integers(0, term)),
        requests=Requests(prepared=finished + draw(st.integers(0, 1)), finished=finished, metrics=draw(COUNTS)),
        storages=draw(st.dictionaries(st.sampled_from(["data/0", "data/1"]), LIVES)),
        is_tick_due=draw(st.booleans()),
        relations=draw(relations()),
    )


def phase(ledger: Ledger, seen: View) -> Phase:
    if seen.is_dying and not ledger.queue:
        return Phase.TEARDOWN
    return Phase.OPERATION if ledger.started else Phase.SETUP


def told_all(ledger: Ledger, seen: View, *, most: int) -> tuple[Ledger, list[UnitEvent]]:
    """Commit what is due until nothing is, and hold each event to what is said of it."""
    events: list[UnitEvent] = []
    while len(events) < most and (event := next_event(ledger, seen)):
        assert phase(ledger, seen) in phases(event.kind)
        # What is granted has its ground, but for what must follow an event that had its own.
        assert verdict(event, ledger, seen) is Verdict.RETRY or ledger.queue
        events.append(event)
        ledger = advance(ledger, event, seen)
        seen = replace(seen, is_tick_due=seen.is_tick_due and event.kind is not EventKind.UPDATE_STATUS)
    return ledger, events


def after(first: View, second: View) -> View:
    """Return the second view, in which no membership goes back to a state before that in the first one."""
    order = list(Membership)
    relations = {}
    for number, relation in second.relations.items():
        before = first.relations[number].members if number in first.relations else {}
        relations[number] = replace(
            relation,
            members={
                unit: replace(
                    member, membership=max(member.membership, before.get(unit, member).membership, key=order.index)
                )
                for unit, member in relation.members.items()
            },
        )
    return replace(second, relations=relations)


@settings(deadline=None, max_examples=100)
@given(first=views(), second=views(), since=st.integers(0, 30))
def test_whatever_changes_events_come_in_their_phases_and_to_an_end(first: View, second: View, since: int) -> None:
    second = after(first, second)
    ledger, early = told_all(Ledger(), first, most=since)
    ledger, late = told_all(ledger, second, most=MOST)
    assert len(late) < MOST
    events = early + late
    assert [event.kind for event in events].count(EventKind.INSTALL) <= 1
    if second.is_dying:
        assert is_owed_nothing(ledger, second)
        assert ledger.removed == ledger.installed
        assert ledger.stopped == ledger.started
        assert all(
            told.broken or number == 1 or number not in second.relations for number, told in ledger.relations.items()
        )


@settings(deadline=None, max_examples=25)
@given(seen=views())
def test_a_removal_after_any_number_of_events_gives_back_all_that_was_given(seen: View) -> None:
    alive = replace(seen, life=ALIVE)
    _, whole = told_all(Ledger(), alive, most=MOST)
    for count in range(len(whole) + 1):
        ledger, early = told_all(Ledger(), alive, most=count)
        _, late = told_all(ledger, replace(alive, life=DYING), most=MOST)
        told = [
            (event.kind, event.relation, event.unit, event.storage) for event in early + late if not event.is_mirrored
        ]
        for giving, taking in PAIRS:
            gave = sorted(about for kind, *about in told if kind is giving and (about[0] != 1 or about[1]))
            took = sorted(about for kind, *about in told if kind is taking)
            assert gave == took, (giving, early, late)
