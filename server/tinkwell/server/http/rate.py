"""Limits the rate of each of many callers, with token buckets."""

import collections
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Rate(Generic[K]):
    """Buckets by caller, which hold `burst` and refill by `per_second`.

    At most `callers` are known, the most recent ones. A caller that was forgotten begins again with a full bucket.
    """

    def __init__(self, *, burst: float, per_second: float, clock: Callable[[], float], callers: int = 10_000) -> None:
        self._burst = burst
        self._per_second = per_second
        self._clock = clock
        self._callers = callers
        # The content of each bucket, and the time when it had that.
        self._buckets: collections.OrderedDict[K, tuple[float, float]] = collections.OrderedDict()

    def take(self, caller: K, amount: float = 1) -> float:
        """Take an amount from a caller's bucket and return 0, or return the seconds until the bucket has that much.

        Nothing is taken in that case. An amount larger than the bucket waits for a full one, and takes all of it.
        """
        now = self._clock()
        held, since = self._buckets.pop(caller, (self._burst, now))
        held = min(self._burst, held + (now - since) * self._per_second)
        wanted = min(amount, self._burst)
        missing = max(0.0, wanted - held)
        self._buckets[caller] = (held if missing else held - wanted, now)
        while len(self._buckets) > self._callers:
            self._buckets.popitem(last=False)
        return missing / self._per_second
