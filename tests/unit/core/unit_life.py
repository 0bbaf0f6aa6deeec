"""Units as the rules see them, for tests: views as they are wanted, and the events that they lead to."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tinkwell.core.unit.kinds import EventKind, Life, Membership, Profile
from tinkwell.core.unit.ledger import Ledger, MemberLedger, RelationLedger
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.resolver.resolve import next_event
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import MemberView, RelationView, RevisionView, SecretView, View

ALIVE, DYING, DEAD = Life
LITERAL, JUJU = Profile
V1, V2 = "charm-1", "charm-2"
# A unit that has started, and has been told of everything that `view()` has.
STARTED = Ledger(installed=True, started=True, config_seen=1, charm_seen=V1)


def view(**changes: Any) -> View:
    """Return a view of web/0, which runs on the application's charm, and where nothing else is."""
    return replace(View(unit="web/0", application="web", config_version=1, charm=V1, code=V1), **changes)


def relation(number: int = 3, members: Mapping[str, MemberView] | None = None, **changes: Any) -> RelationView:
    """Return the unit's end of a relation with pg, which it has entered third."""
    shown = RelationView(
        number=number, endpoint="db", application="pg", membership=Membership.IN, entered=3, members=members or {}
    )
    return replace(shown, **changes)


def peer(number: int = 1, members: Mapping[str, MemberView] | None = None, **changes: Any) -> RelationView:
    """Return the unit's peer relation."""
    return relation(number, members, endpoint="cluster", application="web", is_peer=True, **changes)


def member(unit: str = "pg/0", **changes: Any) -> MemberView:
    """Return a member that is in the relation and has entered first."""
    return replace(MemberView(application=unit.rpartition("/")[0], entered=1), **changes)


def members(*units: str, **changes: Any) -> dict[str, MemberView]:
    """Return members that are alike."""
    return {unit: member(unit, **changes) for unit in units}


def relations(*shown: RelationView) -> dict[int, RelationView]:
    """Return relations by their numbers."""
    return {each.number: each for each in shown}


def secret(name: str = "s1", latest: int = 3, **changes: Any) -> SecretView:
    """Return a secret that the unit may read, with all of its revisions, of which the last one is used."""
    revisions = {number: RevisionView(is_used=number == latest) for number in range(1, latest + 1)}
    return replace(SecretView(id=name, latest=latest, revisions=revisions, is_granted=True), **changes)


def owned(name: str = "s1", latest: int = 3, **changes: Any) -> SecretView:
    """Return a secret that the unit owns."""
    return secret(name, latest, is_owner=True, **changes)


def secrets(*shown: SecretView) -> dict[str, SecretView]:
    """Return secrets by their ids."""
    return {each.id: each for each in shown}


def told(*units: str, older: tuple[str, ...] = (), seen: int = 0, **changes: Any) -> RelationLedger:
    """Return what a unit was told of a relation: of which members, and of which older siblings."""
    known = {unit: MemberLedger(seen_version=seen) for unit in units}
    return replace(RelationLedger(members=known | {unit: MemberLedger(is_older=True) for unit in older}), **changes)


def started(relations: Mapping[int, RelationLedger] | None = None, **changes: Any) -> Ledger:
    """Return the ledger of a unit that has started, with these relations and changes."""
    return replace(STARTED, relations=relations or {}, **changes)


def label(event: UnitEvent) -> str:
    """Return an event in few words, such as `db-relation-joined pg/0`, with `#3` where more than one relation is."""
    marks = [f"#{event.relation}"] if event.relation not in (0, 1, 3) else []
    marks += [event.unit] if event.unit else []
    marks += [event.storage] if event.storage else []
    marks += [event.secret] if event.secret else []
    marks += [f"r{event.revision}"] if event.revision else []
    marks += ["mirrored"] if event.is_mirrored else []
    marks += ["echo"] if event.is_echo else []
    return " ".join([event.name, *marks])


def following(ledger: Ledger, seen: View, *, most: int = 40) -> list[str]:
    """Return the labels of all events that come if each is committed and nothing else happens."""
    labels: list[str] = []
    while (event := next_event(ledger, seen)) is not None:
        assert len(labels) < most, labels
        labels.append(label(event))
        ledger = advance(ledger, event, seen)
        seen = replace(seen, code=event.seen.charm)
        if event.kind is EventKind.UPDATE_STATUS:
            seen = replace(seen, is_tick_due=False)
        if event.kind is EventKind.SECRET_ROTATE:
            rotated = replace(seen.secrets[event.secret], is_rotation_due=False)
            seen = replace(seen, secrets={**seen.secrets, event.secret: rotated})
    return labels


def due(ledger: Ledger, seen: View) -> str:
    """Return the label of the next event, "" for none."""
    event = next_event(ledger, seen)
    return label(event) if event else ""
