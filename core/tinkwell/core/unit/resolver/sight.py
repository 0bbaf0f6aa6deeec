"""What an attempt sees: the current versions, and the code that the unit runs."""

from dataclasses import replace

from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.unit_event import Seen, UnitEvent
from tinkwell.core.unit.view import View


def sighted(event: UnitEvent, view: View, *, has_failed: bool = False) -> UnitEvent:
    """Return the event with what an attempt that is granted now will see.

    A unit's code changes when `upgrade-charm` is granted, and when a failed event is tried again, because new code may
    fix the failure. It never goes back, because the view has the code that the unit ran last.
    """
    charm = view.charm if has_failed or event.kind is EventKind.UPGRADE_CHARM or not view.code else view.code
    term = view.announced_term if event.kind is EventKind.LEADER_SETTINGS_CHANGED else view.term
    seen = Seen(config=view.config_version, charm=charm, term=term, bag=_bag(event, view))
    return replace(event, revision=_revision(event, view), seen=seen)


def _revision(event: UnitEvent, view: View) -> int:
    """Return the revision that the event tells of: the newest one for secret-changed."""
    if event.kind is not EventKind.SECRET_CHANGED or event.secret not in view.secrets:
        return event.revision
    return view.secrets[event.secret].latest


def _bag(event: UnitEvent, view: View) -> int:
    """Return the version of the bag that the event tells of, 0 if it tells of no bag."""
    relation = view.relations.get(event.relation)
    if relation is None or event.kind not in (EventKind.RELATION_JOINED, EventKind.RELATION_CHANGED):
        return 0
    if event.is_echo:
        return relation.own_version
    if not event.unit:
        return relation.application_version
    member = relation.members.get(event.unit)
    return member.version if member else 0
