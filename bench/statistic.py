"""Numbers from repeated runs: their median and spread, ratios of pairs, and the order that keeps pairs fair."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# Latencies are counted in buckets that are one per cent wide, so that any number of them fits in a small message.
_BUCKET = math.log(1.01)
_SMALLEST_SECONDS = 1e-6


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, with the smallest and the largest of them."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Return the median and the spread. Raises `ValueError` for no values."""
    if not values:
        raise ValueError("there are no values")
    return Spread(statistics.median(values), min(values), max(values))


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Spread:
    """Return the median and the spread of the ratios, pair by pair. Raises `ValueError` for no or unequal pairs."""
    return spread([above / below for above, below in zip(numerators, denominators, strict=True)])


def interleave(variants: Sequence[str], rounds: int) -> Iterator[str]:
    """Yield every variant once a round, in turning order: A B B A A B …, so that no drift favours one of them."""
    for number in range(rounds):
        yield from variants if number % 2 == 0 else reversed(variants)


class Latencies:
    """A histogram of latencies, exact to one per cent."""

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self._counts = dict(counts or {})

    @classmethod
    def parse(cls, message: Mapping[str, int]) -> "Latencies":
        """Read what `message` made."""
        return cls({int(bucket): count for bucket, count in message.items()})

    @property
    def count(self) -> int:
        return sum(self._counts.values())

    def message(self) -> dict[str, int]:
        """Return the histogram as JSON can carry it."""
        return {str(bucket): count for bucket, count in self._counts.items()}

    def add(self, seconds: float) -> None:
        bucket = int(math.log(max(seconds, _SMALLEST_SECONDS) / _SMALLEST_SECONDS) / _BUCKET)
        self._counts[bucket] = self._counts.get(bucket, 0) + 1

    def merge(self, other: "Latencies") -> None:
        for bucket, count in other._counts.items():
            self._counts[bucket] = self._counts.get(bucket, 0) + count

    def percentile(self, share: float) -> float:
        """Return the latency in seconds that the share (0 to 1) of all stays below. Raises `ValueError` for none."""
        wanted = share * self.count
        seen = 0
        for bucket in sorted(self._counts):
            count = self._counts[bucket]
            if seen + count >= wanted:
                return _SMALLEST_SECONDS * math.exp((bucket + (wanted - seen) / count) * _BUCKET)
            seen += count
        raise ValueError("there are no latencies")
