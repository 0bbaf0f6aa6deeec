"""The bound of the pause between tries."""

import pytest

from tinkwell.core.value import backoff


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0.5), (1, 1.0), (2, 2.0), (4, 8.0), (5, 10.0), (100, 10.0), (1_000_000, 10.0)]
)
def test_it_doubles_with_each_failure_up_to_the_limit_however_many_there_are(failures: int, seconds: float) -> None:
    assert backoff.bound_seconds(failures, first=0.5, limit=10.0) == seconds
