"""Which event is due to a unit for one relation: members that joined, changed or left, and the relation's end.

Members are taken in the order of their names: by application, then by number.
"""

from collections.abc import Iterable

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import EventKind, Life, Membership, Profile
from tinkwell.core.unit.ledger import RelationLedger
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import MemberView, RelationView, View

NEVER_TOLD = RelationLedger(created=False)


def is_open(told: RelationLedger) -> bool:
    """Whether the unit is in the relation, as far as the unit was told."""
    return told.created and not told.broken


def creation(relation: RelationView, told: RelationLedger) -> UnitEvent | None:
    """Return relation-created if the relation lives and the unit was never told of it."""
    if told.created or relation.life is not Life.ALIVE:
        return None
    return UnitEvent(
        kind=EventKind.RELATION_CREATED,
        relation=relation.number,
        endpoint=relation.endpoint,
        application=relation.application,
    )


def ending(relation: RelationView, told: RelationLedger, view: View) -> UnitEvent | None:
    """Return the event that is due when the unit or the relation goes: departed for each member, then relation-broken.

    No departure is due for older siblings, because they were never announced. A peer relation is not broken.
    """
    if not is_open(told):
        return None
    member = _first(unit for unit, member in told.members.items() if not member.is_older)
    if member:
        return _departed(relation, told, view, member)
    if relation.is_peer:
        return None
    return UnitEvent(
        kind=EventKind.RELATION_BROKEN,
        relation=relation.number,
        endpoint=relation.endpoint,
        application=relation.application,
    )


def operation(relation: RelationView, told: RelationLedger, view: View) -> UnitEvent | None:
    """Return the event that is due in Operation: members that left, the relation's end, members that joined, changes.

    Changes are those of units first, then that of the application's bag, then the unit's own (profile LITERAL).
    """
    if not is_open(told):
        return None
    if relation.life is not Life.ALIVE:
        return ending(relation, told, view)
    left, joined, changed = _look(relation, told, view)
    if left:
        return _departed(relation, told, view, left)
    if joined:
        return _of_unit(EventKind.RELATION_JOINED, relation, joined)
    if changed:
        return _of_unit(EventKind.RELATION_CHANGED, relation, changed)
    return _application_changed(relation, told, view) or _echo(relation, told, view)


def has_members(told: RelationLedger) -> bool:
    """Whether the unit was told of a member that has not departed."""
    return any(not member.is_older for member in told.members.values())


def _look(relation: RelationView, told: RelationLedger, view: View) -> tuple[str, str, str]:
    """Return in one pass the first member that has left, the first that joined, and the first with a changed bag."""
    left = [unit for unit in told.members if unit not in relation.members]
    joined, changed = [], []
    for unit, member in relation.members.items():
        known = told.members.get(unit)
        if member.is_leaving or member.membership is not Membership.IN:
            if known is None:
                continue
            if member.is_gone:
                left.append(unit)
                continue
        if known is None:
            if _meets(relation, member, view):
                joined.append(unit)
        elif member.version > known.seen_version and not known.is_older:
            changed.append(unit)
    return _first(left), _first(joined), _first(changed)


def _meets(relation: RelationView, member: MemberView, view: View) -> bool:
    """Whether the unit is told of a member: of a sibling only in profile LITERAL, and only of one that came later."""
    if relation.is_peer or member.application != view.application:
        return True
    return view.profile is Profile.LITERAL and member.entered > relation.entered


def _application_changed(relation: RelationView, told: RelationLedger, view: View) -> UnitEvent | None:
    """Return relation-changed of the application's bag. With JUJU a leader is not told of its own application's bag."""
    is_own = relation.is_peer and view.profile is Profile.JUJU and view.leads
    if is_own or relation.application_version <= told.application_version:
        return None
    return UnitEvent(
        kind=EventKind.RELATION_CHANGED,
        relation=relation.number,
        endpoint=relation.endpoint,
        application=relation.application,
    )


def _echo(relation: RelationView, told: RelationLedger, view: View) -> UnitEvent | None:
    """Return relation-changed of the unit's own bag, in profile LITERAL, while the unit has members there."""
    if view.profile is not Profile.LITERAL or relation.is_peer or relation.own_version <= told.own_version:
        return None
    if not has_members(told):
        return None
    return UnitEvent(
        kind=EventKind.RELATION_CHANGED,
        relation=relation.number,
        endpoint=relation.endpoint,
        application=view.application,
        unit=view.unit,
        is_echo=True,
    )


def _departed(relation: RelationView, told: RelationLedger, view: View, unit: str) -> UnitEvent:
    return UnitEvent(
        kind=EventKind.RELATION_DEPARTED,
        relation=relation.number,
        endpoint=relation.endpoint,
        application=name.application_of(unit),
        unit=unit,
        departing_unit=view.unit if view.is_dying else unit,
        is_mirrored=told.members[unit].is_older,
    )


def _of_unit(kind: EventKind, relation: RelationView, unit: str) -> UnitEvent:
    return UnitEvent(
        kind=kind,
        relation=relation.number,
        endpoint=relation.endpoint,
        application=name.application_of(unit),
        unit=unit,
    )


def _first(units: Iterable[str]) -> str:
    return min(units, key=name.order, default="")
