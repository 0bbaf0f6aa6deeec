"""The clock of the fake server."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class Clock:
    """Shows the real time until a test lets it jump or run faster. `source` returns monotonic seconds."""

    def __init__(self, *, source: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        # At the last change: the times of the clock and the source. Since then: the speed of the clock.
        self._shown = datetime.now(UTC)
        self._since = source()
        self._speed = 1.0

    def now(self) -> datetime:
        """The time of the clock."""
        return self._shown + timedelta(seconds=(self._source() - self._since) * self._speed)

    def advance(self, seconds: float) -> None:
        """Let the clock jump: deadlines, delays and timestamps follow it."""
        self._shown += timedelta(seconds=seconds)

    def run(self, speed: float) -> None:
        """Let `speed` seconds of the server pass in one second, so that tests do not wait long for deadlines."""
        self._shown, self._since = self.now(), self._source()
        self._speed = speed

    def left(self, began_at: datetime | None, limit_seconds: float) -> float | None:
        """The server's seconds until a limit is reached; None if nothing has begun, or the limit is 0."""
        if began_at is None or not limit_seconds:
            return None
        return (began_at - self.now()).total_seconds() + limit_seconds

    def told(self, seconds: float | None) -> float | None:
        """The real seconds that a client waits until `seconds` of the server have passed; None for None."""
        return None if seconds is None else seconds / self._speed
