"""How long to wait before the next try."""

import random
from collections.abc import Callable

# Together with the channel's own pause it is less than two seconds: so soon does whoever waits for a server find that
# it is back, however long it was away. While no server is there, a try costs no more than finding that out.
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
        """Draw the next delay."""
        delay = self._draw(0.0, self._bound_seconds)
        self._bound_seconds = min(self._bound_seconds * 2, self._longest_seconds)
        return delay

    def reset(self) -> None:
        """Begin again with the shortest bound, after things went well."""
        self._bound_seconds = self._first_seconds
