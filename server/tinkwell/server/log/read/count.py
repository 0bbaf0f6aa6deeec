"""The counters of a reader, and what it waits for."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Wait:
    """The oldest missing revision, for which all delivery waits.

    `since` is when the wait began, by the reader's clock. `holders` is the number of transactions that may still commit
    the revision; it is 0 before the reader has asked for them, and after all of them have ended.
    """

    revision: int
    since: float
    holders: int


@dataclasses.dataclass(slots=True)
class Counts:
    """The counters of a reader since it was made, and what it waits for."""

    polls: int = 0
    sleeps: int = 0
    rings: int = 0
    """How often a ring ended a wait for rings because the log had to be read."""
    told: int = 0
    """Events that came in a ring."""
    checks: int = 0
    """How often a sleeping reader found an event for which no ring had come."""
    timeouts: int = 0
    """Sleeps that ended after the longest time for a sleep."""
    refusals: int = 0
    """How often the reader asked for the bell and did not get it, because a transaction was writing."""
    gap_waits: int = 0
    """How often the reader asked which transactions may still commit a missing revision."""
    gap_seconds: float = 0.0
    """For how long delivery has waited for missing revisions, without the present wait."""
    sessions: int = 0
    wait: Wait | None = None
    closed_by: str = ""
    """The open transactions that keep the log closed, for people; empty during the first seconds."""
