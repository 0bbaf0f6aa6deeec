"""What is said of tasks that have ended, in words that jubilant looks for."""

import pytest

from tinkwell.client import Task
from tinkwell.core.unit.kinds import TaskState
from tinkwell.juju.shell.failure import Failure
from tinkwell.juju.task import asking, shape


def test_tasks_that_have_succeeded_are_no_failure() -> None:
    asking.check(
        [Task("1", state=TaskState.SUCCEEDED), Task("2", state=TaskState.SUCCEEDED, result={"return-code": 0})]
    )


@pytest.mark.parametrize(
    "task",
    [
        Task("7", state=TaskState.FAILED, result={"return-code": 3}),
        Task("7", state=TaskState.SUCCEEDED, result={"return-code": 3}),
    ],
)
def test_one_that_has_failed_is_named_with_what_its_program_ended_with(task: Task) -> None:
    with pytest.raises(Failure) as caught:
        asking.check([Task("1", state=TaskState.SUCCEEDED), task])
    assert caught.value.message == (
        "the following task failed:\n - id \"7\" with return code 3\n\nuse 'juju show-task' to inspect the failure"
    )


def test_several_are_named_together() -> None:
    with pytest.raises(Failure, match="the following tasks failed:"):
        asking.check([Task("1", state=TaskState.TIMEOUT), Task("2", state=TaskState.CANCELLED)])


def test_each_state_has_a_status_of_juju() -> None:
    found = {state: shape.status(Task("1", state=state)) for state in TaskState}
    assert set(found.values()) == {"pending", "running", "completed", "failed", "cancelled"}
