"""How much of something each of many callers may do: some of it at once, and from then on as much as flows in again."""

import collections
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Rate(Generic[K]):
    """Buckets by caller that hold `burst`, and get `per_second` back.

    At most `callers` are known, those who came last. Whoever is forgotten begins anew with a full bucket.
    """

    def __init__(self, *, burst: float, per_second: float, clock: Callable[[], float], callers: int = 10_000) -> None:
        self._burst = burst
        self._per_second = per_second
        self._clock = clock
        self._callers = callers
        # What each bucket held, and when.
        self._buckets: collections.OrderedDict[K, tuple[float, float]] = collections.OrderedDict()

    def take(self, caller: K, amount: float = 1) -> float:
        """Take an amount out of a caller's bucket and return 0; or return in how many seconds it will have so much.

        Nothing is taken in that case. An amount that no bucket holds waits for a full one, and takes all of it.
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
