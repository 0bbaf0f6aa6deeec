"""What of an action is left on its machine."""

import dataclasses

import pytest

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import change
from tinkwell.core.workflow.hold import is_vacant


def ends(state: State) -> list[change.Step]:
    return [change.EndAction("a", state, ""), change.EndAction("b", State.CANCELLED, "")]


@pytest.mark.parametrize(
    ("steps", "is_left"),
    [
        (ends(State.SUCCEEDED), False),
        (ends(State.FAILED), True),
        (ends(State.TIMEOUT), True),
        ([change.RetryAction("a", State.FAILED, "", 1, 5)], False),
    ],
)
def test_only_a_hook_that_is_to_run_keeps_something_on_the_machine(steps: list[change.Step], is_left: bool) -> None:
    action = change.Action(id="a", index=0, task_name="t", name="x", worker_id="w")
    assert is_vacant(action, steps)
    with_hooks = dataclasses.replace(action, on_failure=("x",), on_timeout=("x",))
    assert is_vacant(with_hooks, steps) is not is_left
