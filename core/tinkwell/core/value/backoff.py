"""How long to wait after failures in a row, for who tries again however many there are."""

# Twice as long so often is longer than anybody waits, and no power of two that a float has no room for.
_MOST_DOUBLINGS = 32


def bound_seconds(failures: int, *, first: float, limit: float) -> float:
    """Return the bound of the pause after so many failures: the first one, doubled with each, and at most the limit."""
    return min(first * 2.0 ** min(failures, _MOST_DOUBLINGS), limit)
