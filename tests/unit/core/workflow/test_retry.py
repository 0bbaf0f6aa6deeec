"""When an attempt that ended without success is repeated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.workflow import retry

firsts = st.integers(0, retry.MAX_DELAY_SECONDS)
attempts = st.integers(1, retry.MAX_RETRIES)


def wait(attempt: int, *, retries: int = 3, first: int = 5, left: float | None = None) -> int | None:
    return retry.wait_seconds(
        attempt=attempt, retries=retries, first_delay_seconds=first, workflow_remaining_seconds=left
    )


def test_the_wait_doubles_up_to_an_hour() -> None:
    assert [retry.delay_seconds(5, attempt) for attempt in range(1, 13)] == [
        *(5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560),
        *(3600, 3600),
    ]
    assert retry.delay_seconds(1, 100) == 3600


def test_a_first_wait_of_more_than_an_hour_stays_as_it_is() -> None:
    assert {retry.delay_seconds(86_400, attempt) for attempt in range(1, 101)} == {86_400}


def test_no_wait_stays_none() -> None:
    assert {retry.delay_seconds(0, attempt) for attempt in range(1, 101)} == {0}


@given(firsts, attempts)
def test_a_wait_never_shrinks_and_is_never_more_than_twice_the_one_before(first: int, attempt: int) -> None:
    before, after = retry.delay_seconds(first, attempt), retry.delay_seconds(first, attempt + 1)
    assert first <= before <= after <= 2 * before
    assert after <= max(first, retry.MAX_GROWN_SECONDS)


def test_there_are_so_many_attempts_after_the_first() -> None:
    assert [wait(attempt) for attempt in range(1, 6)] == [5, 10, 20, None, None]
    assert wait(1, retries=0) is None


@pytest.mark.parametrize(
    ("left", "expected"), [(None, 5), (5.1, 5), (5.0, None), (4.0, None), (0.0, None), (-1.0, None)]
)
def test_what_could_begin_only_after_the_workflows_deadline_is_not_repeated(
    left: float | None, expected: int | None
) -> None:
    assert wait(1, left=left) == expected


def test_without_a_delay_the_deadline_must_still_be_ahead() -> None:
    assert [wait(1, first=0, left=left) for left in (0.1, 0.0, -0.1)] == [0, None, None]
