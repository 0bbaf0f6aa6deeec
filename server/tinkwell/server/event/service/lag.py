"""How far this process is behind the database, looked at now and then, whatever its events come by.

How long something has been due is known by when it was first seen: the age of the newest event says nothing, because
nothing may have happened for hours.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable

from tinkwell.core import errors
from tinkwell.server.event.store.position import Position
from tinkwell.server.log.fanout.hub import Hub

logger = logging.getLogger(__name__)

_INTERVAL_SECONDS = 2.0
# While a server is behind for very long, every second look is forgotten: the times get coarser, not wrong.
_MOST_LOOKS = 1_000
# The clocks are compared by the quickest of so many looks, since they may differ by half of the time that it took.
_COMPARED_LOOKS = 10


class Lag:
    """Compares what the hub has released with what the database holds."""

    def __init__(
        self,
        look: Callable[[], Awaitable[Position]],
        hub: Hub,
        *,
        interval_seconds: float = _INTERVAL_SECONDS,
        most_looks: int = _MOST_LOOKS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._look = look
        self._hub = hub
        self._interval_seconds = interval_seconds
        self._most_looks = most_looks
        self._clock = clock
        self._wall = wall
        # Looks that showed revisions not released by then: when, and the highest revision. Oldest first.
        self._looks: deque[tuple[float, int]] = deque()
        # How long the last looks took, and the database's clock minus this machine's halfway through them.
        self._offsets: deque[tuple[float, float]] = deque(maxlen=_COMPARED_LOOKS)
        self.clock_offset_seconds = 0.0

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            try:
                await self.look()
            except errors.Unavailable as error:
                # What is due is still due; that the database is away is told by who reads it.
                logger.debug("the lag is not known", extra={"cause": str(error)})
            except Exception as error:
                # What the database refuses, such as one that is not ours any more; a server does not end for a figure.
                cause = f"{type(error).__name__}: {error}".split("\n", 1)[0]
                logger.warning("the lag cannot be read", extra={"cause": cause})
            await asyncio.sleep(self._interval_seconds)

    async def look(self) -> None:
        """Look once. Raises `errors.Unavailable`, and whatever else the database answers."""
        began, asked_at = self._clock(), self._wall()
        position = await self._look()
        answered_at = self._wall()
        self._offsets.append((self._clock() - began, position.now.timestamp() - (asked_at + answered_at) / 2))
        self.clock_offset_seconds = min(self._offsets)[1]
        self._forget_delivered()
        if position.revision > self._hub.released and (not self._looks or position.revision > self._looks[-1][1]):
            self._looks.append((began, position.revision))
            if len(self._looks) > self._most_looks:
                self._looks = deque(list(self._looks)[::2])

    @property
    def revisions(self) -> int:
        """How many revisions are visible in the database and not released here, as of the last look."""
        self._forget_delivered()
        return self._looks[-1][1] - self._hub.released if self._looks else 0

    @property
    def seconds(self) -> float:
        """For how long at least something has been due; 0 when nothing is."""
        self._forget_delivered()
        return self._clock() - self._looks[0][0] if self._looks else 0.0

    def _forget_delivered(self) -> None:
        while self._looks and self._looks[0][1] <= self._hub.released:
            self._looks.popleft()
