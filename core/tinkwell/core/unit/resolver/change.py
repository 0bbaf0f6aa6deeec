"""What a grant and a commit change outside of the ledger, as small records that the server and the world both apply.

The effects of a handler (bags, state, ports) are not among them: `Effects` describes these.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import EventKind, Phase
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View


@dataclass(frozen=True, slots=True)
class RunCode:
    """From this attempt on the unit runs the charm with this digest, even if the attempt fails."""

    charm: str


@dataclass(frozen=True, slots=True)
class EnterPhase:
    """The unit enters this phase."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class BeginEntering:
    """The unit becomes an ENTERING member of the relation; the relation cannot be deleted before the unit is told."""

    relation: int


@dataclass(frozen=True, slots=True)
class Enter:
    """The member becomes IN, and takes its place in the order of members."""

    relation: int


@dataclass(frozen=True, slots=True)
class Leave:
    """The member becomes LEFT; an ENTERING member is deleted. A relation of 0 means all relations of the unit."""

    relation: int = 0


@dataclass(frozen=True, slots=True)
class Refer:
    """The remote unit's row is kept until `LetGo`, or until this unit has committed the remote unit's departure."""

    relation: int
    unit: str


@dataclass(frozen=True, slots=True)
class LetGo:
    """This unit no longer needs the remote unit's row: its relation-joined was withdrawn."""

    relation: int
    unit: str


@dataclass(frozen=True, slots=True)
class Announce:
    """The term's leader has been told; all other units of the application are due leader-settings-changed."""

    term: int


@dataclass(frozen=True, slots=True)
class Resign:
    """The unit stops leading its application, and its term is over."""

    term: int


@dataclass(frozen=True, slots=True)
class Detach:
    """The storage leaves its unit: it stays for another unit, or is deleted."""

    storage: str


@dataclass(frozen=True, slots=True)
class Rotated:
    """The owner was told to rotate the secret: the next rotation is due one interval from now."""

    secret: str


@dataclass(frozen=True, slots=True)
class Die:
    """The unit is DEAD: its last event is committed."""


Change: TypeAlias = (
    RunCode | EnterPhase | BeginEntering | Enter | Leave | Refer | LetGo | Announce | Resign | Detach | Rotated | Die
)


def granted(event: UnitEvent, view: View) -> tuple[Change, ...]:
    """Return what the grant of an attempt changes, of a first or a later attempt; `view` was read before the grant.

    A leader whose removal was asked for leads until its teardown begins.
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
    """Return what the commit, or the skipping, of an event changes."""
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
    """Return what the withdrawal of an event changes. The unit's code stays: code never goes back."""
    match event.kind:
        case EventKind.RELATION_CREATED:
            return (Leave(event.relation),)
        case EventKind.RELATION_JOINED:
            return (LetGo(event.relation, event.unit),)
        case EventKind.STORAGE_ATTACHED:
            # The storage or its unit goes. The unit has no storage attached, so no storage-detaching will come for it.
            return (Detach(event.storage),)
        case _:
            return ()


def ended(view: View) -> tuple[Change, ...]:
    """Return what the end of a unit changes: after `remove`, by force, or if it was DYING and no event was due.

    The other units are told from then on that it has left; its storages are detached.
    """
    changes: list[Change] = [Resign(view.term)] if view.leads else []
    return (*changes, *(Detach(storage) for storage in sorted(view.storages, key=name.order)), Leave(), Die())
