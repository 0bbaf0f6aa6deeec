"""One try at an effect."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a try ended. FAILED may go better another time, HOPELESS may not."""

    DONE = "DONE"
    FAILED = "FAILED"
    HOPELESS = "HOPELESS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How a try ended, and what there is to say about it; `not_before_seconds` is what the other side asked for."""

    outcome: Outcome
    detail: str
    not_before_seconds: float = 0.0


def done(detail: str) -> Attempt:
    """Return a try that succeeded."""
    return Attempt(outcome=Outcome.DONE, detail=detail)


def failed(detail: str, *, not_before_seconds: float = 0.0) -> Attempt:
    """Return a try that failed, and may go better another time."""
    return Attempt(outcome=Outcome.FAILED, detail=detail, not_before_seconds=not_before_seconds)


def hopeless(detail: str) -> Attempt:
    """Return a try that failed, and that a repetition would not help."""
    return Attempt(outcome=Outcome.HOPELESS, detail=detail)
