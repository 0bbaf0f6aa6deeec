"""The time of the server, whose clock may differ from this machine's.

The server does not send its time. But each time in an answer has passed on the server when the answer arrives, so the
server's clock shows at least that; and a deadline minus its remaining seconds is the time of the answer that has both.
The latest of these times is kept, and advanced by a monotonic clock.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime


class ServerClock:
    """Shows the server's time, or this machine's as long as the server's is unknown."""

    def __init__(
        self, *, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self._monotonic = monotonic
        self._guess = wall() - monotonic()
        self._offset: float | None = None

    def is_at_least(self, moment: datetime | None) -> None:
        """Learn that the server's clock shows this moment now, or a later one."""
        if moment is not None:
            offset = moment.timestamp() - self._monotonic()
            self._offset = offset if self._offset is None else max(self._offset, offset)

    def now(self) -> datetime:
        """Return the server's time."""
        offset = self._guess if self._offset is None else self._offset
        return datetime.fromtimestamp(self._monotonic() + offset, UTC)
