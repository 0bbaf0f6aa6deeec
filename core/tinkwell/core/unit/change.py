"""What a grant and a commit change outside of the ledger, as small records that the server and the world both apply.

What the effects of a handler change (bags, state, ports) is not among it: they say so themselves.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.unit.kinds import Phase


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
class Die:
    """The unit is DEAD: its last event is committed."""


Change: TypeAlias = (
    RunCode | EnterPhase | BeginEntering | Enter | Leave | Refer | LetGo | Announce | Resign | Detach | Die
)
