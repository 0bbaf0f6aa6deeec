"""The pause after several failures in a row, for callers that try again without end."""

# More doublings than any pause needs, and few enough for a float.
_MOST_DOUBLINGS = 32


def bound_seconds(failures: int, *, first: float, limit: float) -> float:
    """Return the bound of the pause after `failures` failures: the first one, doubled each time, at most `limit`."""
    return min(first * 2.0 ** min(failures, _MOST_DOUBLINGS), limit)
