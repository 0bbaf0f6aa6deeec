"""Why a unit's events come, which events come after the one in flight, and what keeps the unit from its events."""

from dataclasses import dataclass, replace

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import CharmKind, EventKind, Leaving, Life, Phase, Reason
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
    """Return why a teardown event comes, as seen when its attempt is granted; None for other events.

    The result is also None for a storage that is detached from a unit that stays, because only a request causes that.
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


def cause(event: UnitEvent, *, unit: str, application_id: str, is_of_upgrade: bool, actor: str) -> dict[str, str | int]:
    """Return what made an event due: a resource with its version; empty if there is none.

    A bag is named by its relation's number and its owner. `is_of_upgrade`: the event must follow `upgrade-charm`, so
    the charm is its cause, whatever else has changed with it.
    """
    seen = event.seen
    match event.kind:
        case EventKind.UPGRADE_CHARM:
            found: dict[str, str | int] = {"type": "CHARM", "id": seen.charm}
        case EventKind.CONFIG_CHANGED | EventKind.START if is_of_upgrade:
            found = {"type": "CHARM", "id": seen.charm}
        case EventKind.CONFIG_CHANGED:
            found = {"type": "APPLICATION", "id": application_id, "version": seen.config}
        case EventKind.LEADER_ELECTED | EventKind.LEADER_SETTINGS_CHANGED:
            found = {"type": "APPLICATION", "id": application_id, "version": seen.term}
        case EventKind.RELATION_JOINED | EventKind.RELATION_CHANGED:
            owner = unit if event.is_echo else event.unit or event.application
            found = {"type": "RELATION", "id": str(event.relation), "owner": owner, "version": seen.bag}
        case _ if event.kind.is_relation:
            found = {"type": "RELATION", "id": str(event.relation)}
        case _ if event.kind.is_secret:
            found = {"type": "SECRET", "id": event.secret} | ({"version": event.revision} if event.revision else {})
        case _ if event.kind.is_storage:
            found = {"type": "STORAGE", "id": event.storage}
        case _:
            return {}
    return found | ({"actor": actor} if actor else {})


@dataclass(frozen=True, slots=True)
class Hindrance:
    """What keeps a unit from its events, as a phrase that follows the unit's name, and what helps."""

    text: str
    advice: str


def hindrance(
    unit: str,
    kind: CharmKind,
    *,
    phase: Phase,
    machine: str,
    is_anywhere: bool,
    is_agent_alive: bool,
    event: str = "",
) -> Hindrance | None:
    """Return why a unit that is not DEAD gets no events; None if a living agent serves it.

    `machine` is the machine's name or "", `event` is the event in flight.
    """
    if is_agent_alive:
        return None
    charms = f"{kind.lower()} charms"
    start = _start(unit, kind, machine, is_anywhere=is_anywhere)
    if not machine and not is_anywhere:
        advice = f"{start}, or add a unit to a machine that has one, or with --to anywhere"
        return Hindrance(f"waits for a machine: no agent that is alive takes {charms}", advice)
    where = f"of machine {machine}" if machine else f"that takes {charms} anywhere"
    if phase is Phase.WAITING:
        return Hindrance(f"waits for an agent {where}", start)
    what = f" with {event}" if event else ""
    return Hindrance(f"waits{what}: its agent {where} is not alive", "start the agent again")


def _start(unit: str, kind: CharmKind, machine: str, *, is_anywhere: bool) -> str:
    """Return how to start the agent that a unit waits for."""
    if kind is not CharmKind.NATIVE:
        there = "" if is_anywhere else f" --agent-for {machine or 'HARDWARE-ID'}"
        return f"start tinkwell provisioner{there} --units"
    there = "" if is_anywhere else f" --machine {machine or 'HARDWARE-ID'}"
    return f"start tinkwell unit run FILE --application {name.application_of(unit)}{there}"


def upcoming(ledger: Ledger, view: View, *, most: int) -> tuple[UnitEvent, ...]:
    """Return the events that the unit would get next if nothing else happened, in order, at most `most`."""
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
    """Return the view after the event, if nothing else has happened: an event that a clock makes due comes once."""
    view = replace(view, code=event.seen.charm)
    match event.kind:
        case EventKind.UPDATE_STATUS:
            return replace(view, is_tick_due=False)
        case EventKind.SECRET_ROTATE:
            rotated = replace(view.secrets[event.secret], is_rotation_due=False)
            return replace(view, secrets={**view.secrets, event.secret: rotated})
        case _:
            return view
