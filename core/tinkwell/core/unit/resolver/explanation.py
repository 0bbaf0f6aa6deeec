"""Why a unit's teardown events come, and which events it will get after the one in flight."""

from dataclasses import dataclass, replace

from tinkwell.core.unit.kinds import EventKind, Leaving, Life, Reason
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.resolver import resolve
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Why a teardown event comes, and who leaves."""

    reason: Reason
    leaving: Leaving


def ground(event: UnitEvent, view: View) -> Ground | None:
    """Say why a teardown event comes, as its attempt is granted; None for other events.

    A storage that is detached from a unit which stays has no reason either: somebody asked for that alone.
    """
    if not event.kind.is_teardown:
        return None
    if view.is_dying:
        is_application = view.application_life is not Life.ALIVE
        return Ground(
            reason=Reason.APPLICATION_REMOVED if is_application else Reason.UNIT_REMOVED, leaving=Leaving.SELF
        )
    relation = view.relations.get(event.relation)
    if relation is None:
        return None
    if relation.life is not Life.ALIVE:
        is_application = relation.application_life is not Life.ALIVE
        return Ground(
            reason=Reason.APPLICATION_REMOVED if is_application else Reason.RELATION_REMOVED, leaving=Leaving.RELATION
        )
    member = relation.members.get(event.unit)
    is_forced = member is None or member.is_forced
    return Ground(reason=Reason.FORCED if is_forced else Reason.UNIT_REMOVED, leaving=Leaving.REMOTE)


def upcoming(ledger: Ledger, view: View, *, most: int) -> tuple[UnitEvent, ...]:
    """Return the events that the unit would get from here on if nothing else happened, in order, at most `most`."""
    events: list[UnitEvent] = []
    while len(events) < most:
        event = resolve.next_event(ledger, view)
        if event is None:
            break
        events.append(event)
        ledger = advance(ledger, event, view)
        view = _after(event, view)
    return tuple(events)


def _after(event: UnitEvent, view: View) -> View:
    """Return the view in which nothing else has happened: what is due by the clock is so once."""
    view = replace(view, code=event.seen.charm)
    match event.kind:
        case EventKind.UPDATE_STATUS:
            return replace(view, is_tick_due=False)
        case EventKind.SECRET_ROTATE:
            rotated = replace(view.secrets[event.secret], is_rotation_due=False)
            return replace(view, secrets={**view.secrets, event.secret: rotated})
        case _:
            return view
