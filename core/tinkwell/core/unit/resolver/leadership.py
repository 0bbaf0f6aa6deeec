"""Which unit leads an application: at most one, for a term.

A leader's deadline is the expiry of its agent's lease plus `GRACE_SECONDS`; no other unit is elected before it. A unit
may act as leader only until its lease expires. So a unit that was frozen, and does not know that its lease is over, has
stopped before another unit leads.
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
    """Return for how long a leader still leads, from its agent's remaining lease; negative once the term is over."""
    return lease_remaining_seconds + GRACE_SECONDS


def elect(
    candidates: Iterable[Candidate], *, application_life: Life, leader: str, leader_remaining_seconds: float
) -> str:
    """Return the unit that leads from now on, for the next term, or "" if nothing changes.

    A leader whose term is not over keeps it; without a leader the remaining seconds are ignored. Units that have
    started come first, then the lowest number. An application whose removal was asked for elects no unit.
    """
    if application_life is not Life.ALIVE or (leader and leader_remaining_seconds > 0):
        return ""
    living = (each for each in candidates if each.is_live)
    first = min(living, key=lambda each: (not each.is_started, name.number_of(each.unit)), default=None)
    return first.unit if first else ""
