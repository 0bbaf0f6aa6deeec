"""What a grant and a commit change outside of the ledger, as small records that the server and the world both apply.

What the effects of a handler change (bags, state, ports) is not among it: they say so themselves.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import EventKind, Phase
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View


@dataclass(frozen=True, slots=True)
class RunCode:
    """From this attempt on the unit runs on the charm with this digest, also if the attempt fails."""

    charm: str


@dataclass(frozen=True, slots=True)
class EnterPhase:
    """The unit is in this phase from now on."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class BeginEntering:
    """The unit is a member of the relation, ENTERING, so that the relation cannot go before it is told so."""

    relation: int


@dataclass(frozen=True, slots=True)
class Enter:
    """The member is IN, and its place in the order of members is drawn now."""

    relation: int


@dataclass(frozen=True, slots=True)
class Leave:
    """The member has LEFT; one that is ENTERING is gone at once. Without a number, of all relations that it is in."""

    relation: int = 0


@dataclass(frozen=True, slots=True)
class Refer:
    """The remote unit's row is kept until it is let go of, or until the unit has committed its relation-departed."""

    relation: int
    unit: str


@dataclass(frozen=True, slots=True)
class LetGo:
    """The remote unit's row need not be kept for this unit any more: its relation-joined was withdrawn."""

    relation: int
    unit: str


@dataclass(frozen=True, slots=True)
class Announce:
    """The term's leader has been told; all others of its application are owed leader-settings-changed."""

    term: int


@dataclass(frozen=True, slots=True)
class Resign:
    """The unit does not lead its application any more, and its term is over."""

    term: int


@dataclass(frozen=True, slots=True)
class Detach:
    """The storage belongs to no unit any more: it stays for another one, or goes."""

    storage: str


@dataclass(frozen=True, slots=True)
class Rotated:
    """The owner of the secret was told to rotate it: it is due again after its interval, counted from now."""

    secret: str


@dataclass(frozen=True, slots=True)
class Die:
    """The unit is DEAD: its last event is committed."""


Change: TypeAlias = (
    RunCode | EnterPhase | BeginEntering | Enter | Leave | Refer | LetGo | Announce | Resign | Detach | Rotated | Die
)


def granted(event: UnitEvent, view: View) -> tuple[Change, ...]:
    """Return what the grant of an attempt changes, of the first one as of each later one; the view is from before it.

    A leader that is removed leads until its teardown begins.
    """
    changes: list[Change] = []
    if event.seen.charm != view.code:
        changes.append(RunCode(event.seen.charm))
    if view.is_dying and event.kind.is_teardown:
        if view.phase is not Phase.TEARDOWN:
            changes.append(EnterPhase(Phase.TEARDOWN))
        if view.leads:
            changes.append(Resign(view.term))
    elif view.phase is Phase.WAITING:
        changes.append(EnterPhase(Phase.SETUP))
    match event.kind:
        case EventKind.RELATION_CREATED:
            changes.append(BeginEntering(event.relation))
        case EventKind.RELATION_JOINED:
            changes.append(Refer(event.relation, event.unit))
        case _:
            pass
    return tuple(changes)


def committed(event: UnitEvent, view: View) -> tuple[Change, ...]:
    """Return what the commit of an event, or its being skipped, changes."""
    match event.kind:
        case EventKind.RELATION_CREATED:
            return (Enter(event.relation),)
        case EventKind.RELATION_BROKEN:
            return (Leave(event.relation),)
        case EventKind.LEADER_ELECTED:
            return (Announce(event.seen.term),)
        case EventKind.START if view.phase is Phase.SETUP:
            return (EnterPhase(Phase.OPERATION),)
        case EventKind.STORAGE_DETACHING:
            return (Detach(event.storage),)
        case EventKind.SECRET_ROTATE:
            return (Rotated(event.secret),)
        case EventKind.REMOVE:
            return ended(view)
        case _:
            return ()


def withdrawn(event: UnitEvent) -> tuple[Change, ...]:
    """Return what an event takes back that is as if it had never been granted. Its code stays: code never goes back."""
    match event.kind:
        case EventKind.RELATION_CREATED:
            return (Leave(event.relation),)
        case EventKind.RELATION_JOINED:
            return (LetGo(event.relation, event.unit),)
        case EventKind.STORAGE_ATTACHED:
            # It or its unit goes, and the unit, which does not have it, will never be told that it is detached.
            return (Detach(event.storage),)
        case _:
            return ()


def ended(view: View) -> tuple[Change, ...]:
    """Return what the end of a unit changes: after `remove`, by force, or when it is dying and owed nothing.

    The others are told from then on that it has left; what it has of storages is let go.
    """
    changes: list[Change] = [Resign(view.term)] if view.leads else []
    return (*changes, *(Detach(storage) for storage in sorted(view.storages, key=name.order)), Leave(), Die())
