"""How long to wait before the next try."""

import random
from collections.abc import Callable

# This pause and the channel's own add up to less than two seconds. So a waiting client notices within two seconds that
# the server is back, however long it was away. A try is cheap while no server is there.
LONGEST_SECONDS = 1.0


class Backoff:
    """Capped exponential backoff with full jitter: each delay is drawn from zero to a bound that doubles."""

    def __init__(
        self,
        *,
        first_seconds: float = 0.2,
        longest_seconds: float = LONGEST_SECONDS,
        draw: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._first_seconds = first_seconds
        self._longest_seconds = longest_seconds
        self._draw = draw
        self._bound_seconds = first_seconds

    def next_seconds(self) -> float:
        """Return a random delay, in seconds, for the next try."""
        delay = self._draw(0.0, self._bound_seconds)
        self._bound_seconds = min(self._bound_seconds * 2, self._longest_seconds)
        return delay

    def reset(self) -> None:
        """Begin again with the shortest bound, after a success."""
        self._bound_seconds = self._first_seconds
