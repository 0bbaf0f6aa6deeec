"""What a reader tells of itself: what it has done, and what it waits for."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Wait:
    """What delivery waits for: the oldest missing revision, since when, and how many transactions may still commit it.

    The time is by the reader's clock. There are no holders while they have not been asked for, or once all have ended.
    """

    revision: int
    since: float
    holders: int


@dataclasses.dataclass(slots=True)
class Counts:
    """What the reader has done since it was made, and what it waits for."""

    polls: int = 0
    sleeps: int = 0
    rings: int = 0
    """Sleeps, or parts of one, that a writer's ring ended."""
    told: int = 0
    """Events that rings told of."""
    checks: int = 0
    """The same for a comparison of positions that found an event: a ring that never came."""
    timeouts: int = 0
    """Sleeps that ended because they had lasted long enough."""
    refusals: int = 0
    """How often the bell was refused, since somebody was writing."""
    gap_waits: int = 0
    """How often it was asked who may still commit what is missing."""
    gap_seconds: float = 0.0
    """How long delivery has waited for missing revisions, without the present wait."""
    sessions: int = 0
    wait: Wait | None = None
    closed_by: str = ""
    """Whose open transactions keep the log closed, once that has lasted for some seconds."""
