"""How to reach NATS, and what its stream is like."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """Where the stream is, and what it keeps. `age_seconds` and `stream_bytes` bound it, whichever comes first."""

    urls: Sequence[str]
    stream: str
    replicas: int
    age_seconds: float
    stream_bytes: int
    credentials: Path | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @property
    def subject(self) -> str:
        """The one subject of the stream."""
        return f"{self.stream}.events"
