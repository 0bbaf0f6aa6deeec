"""Who leads an application: at most one unit, for a term that is given once and lasts as long as its lease and a while.

A leader's deadline is when the lease of its agent expires, and `GRACE_SECONDS` later; nobody else is elected before. A
unit may act as leader only as long as that while has not begun, so that one which is frozen, and does not know that its
lease is over, has stopped before another one begins.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import Life

GRACE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A unit of the application. `is_live`: it is ALIVE, and the lease of the agent that serves it has not expired."""

    unit: str
    is_started: bool
    is_live: bool


def remaining_seconds(lease_remaining_seconds: float) -> float:
    """Return for how long a leader still leads whose agent's lease has so long to live, negative when it is over."""
    return lease_remaining_seconds + GRACE_SECONDS


def may_lead(leader_remaining_seconds: float) -> bool:
    """Whether a unit that leads for so long still may act as leader. It counts from before it asked."""
    return leader_remaining_seconds >= GRACE_SECONDS


def elect(
    candidates: Iterable[Candidate], *, application_life: Life, leader: str, leader_remaining_seconds: float
) -> str:
    """Return the unit that is to lead from now on, for the next term, or "" if nothing changes.

    A leader whose term is not over keeps it; where nobody leads, the remaining seconds count for nothing. Units that
    have started come first, then the lowest number. An application that is removed elects nobody.
    """
    if application_life is not Life.ALIVE or (leader and leader_remaining_seconds > 0):
        return ""
    living = (each for each in candidates if each.is_live)
    first = min(living, key=lambda each: (not each.is_started, name.number_of(each.unit)), default=None)
    return first.unit if first else ""
