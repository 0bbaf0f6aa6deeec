"""What the relay counts, for metrics and for tests."""

import dataclasses
import enum


class Role(enum.StrEnum):
    """Where this server's events come from, and whether it passes them on."""

    READING = "reading"
    """From the database."""
    FOLLOWING = "following"
    """From the stream; the database is not read."""
    PUBLISHING = "publishing"
    """From the database, and they go into the stream."""


@dataclasses.dataclass(slots=True)
class Counts:
    """What one server's relay has done since it was made."""

    role: Role = Role.READING
    published_batches: int = 0
    published_events: int = 0
    consumed_batches: int = 0
    consumed_events: int = 0
    elections: int = 0
    """How often this server was elected to publish."""
    joins: int = 0
    """How often it went over from the database to the stream."""
    fallbacks: int = 0
    """How often it went back to the database."""
    refusals: int = 0
    """How often it found that another server was publishing, too."""
