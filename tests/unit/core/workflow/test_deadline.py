"""The one rule for deadlines of actions."""

import pytest

from tinkwell.core.workflow import deadline


@pytest.mark.parametrize(
    ("timeout_seconds", "workflow_seconds", "expected"),
    [(0, None, None), (60, None, 60.0), (0, 30.0, 30.0), (60, 30.0, 30.0), (60, 90.0, 60.0), (60, -1.0, -1.0)],
)
def test_an_attempt_that_starts_has_its_own_timeout_or_what_the_workflow_has_left_whichever_is_sooner(
    timeout_seconds: int, workflow_seconds: float | None, expected: float | None
) -> None:
    assert deadline.starts(timeout_seconds, workflow_seconds=workflow_seconds) == expected


def test_a_timeout_of_zero_never_ends_and_another_one_ends_when_it_has_elapsed() -> None:
    assert deadline.left(0, elapsed_seconds=1e9) is None
    assert [deadline.left(60, elapsed_seconds=elapsed) for elapsed in (0.0, 59.0, 61.0)] == [60.0, 1.0, -1.0]


@pytest.mark.parametrize(
    ("action_seconds", "workflow_seconds", "expected"),
    [
        (None, None, False),
        (-1.0, None, False),
        (-1.0, 5.0, False),
        (None, 5.0, False),
        (None, 0.0, True),
        (5.0, -1.0, True),
        (-1.0, -2.0, True),
        (-2.0, -1.0, False),
        (-1.0, -1.0, False),
    ],
)
def test_it_was_the_workflows_timeout_if_that_has_passed_and_was_sooner(
    action_seconds: float | None, workflow_seconds: float | None, expected: bool
) -> None:
    assert deadline.is_by_workflow(action_seconds, workflow_seconds=workflow_seconds) == expected
