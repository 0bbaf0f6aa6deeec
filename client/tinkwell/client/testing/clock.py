"""The time of the fake server."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class Clock:
    """Shows the real time until a test lets it jump or run faster. `source` is what counts the seconds that pass."""

    def __init__(self, *, source: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        # What the clock showed when the source showed this, and how fast it has run since.
        self._shown = datetime.now(UTC)
        self._since = source()
        self._speed = 1.0

    def now(self) -> datetime:
        """What the clock shows."""
        return self._shown + timedelta(seconds=(self._source() - self._since) * self._speed)

    def advance(self, seconds: float) -> None:
        """Let the clock jump: deadlines, delays and timestamps follow it."""
        self._shown += timedelta(seconds=seconds)

    def run(self, speed: float) -> None:
        """Let so many seconds of the server pass in one, so that no test waits long for a deadline or a delay."""
        self._shown, self._since = self.now(), self._source()
        self._speed = speed

    def left(self, began_at: datetime | None, limit_seconds: float) -> float | None:
        """The server's seconds until a limit is reached; None where nothing has begun, or where the limit is 0."""
        if began_at is None or not limit_seconds:
            return None
        return (began_at - self.now()).total_seconds() + limit_seconds

    def told(self, seconds: float | None) -> float | None:
        """The seconds that a client has to wait until so many of the server's have passed."""
        return None if seconds is None else seconds / self._speed
