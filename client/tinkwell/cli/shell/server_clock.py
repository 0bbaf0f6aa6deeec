"""What time it is by the server, whose clock may differ from this machine's.

Nobody tells it outright. But every moment that comes from the server has passed there when it arrives here, so that its
clock shows at least that; and a deadline less what remains of it is the very moment of the answer that tells both. The
latest of all that was seen is kept, and counted on by a monotonic clock.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime


class ServerClock:
    """Tells the server's time; this machine's own as long as nothing is known of the server's."""

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
        """Give the server's time."""
        offset = self._guess if self._offset is None else self._offset
        return datetime.fromtimestamp(self._monotonic() + offset, UTC)
