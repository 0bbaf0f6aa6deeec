"""What is known of one workflow while it is followed."""

import pytest
from unit.cli.following import ID, action, at, event, running, tree, workflow

from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.client import LogLine, WorkflowContext
from tinkwell.core.event.kinds import EventType, State


def test_an_event_that_is_older_than_the_list_changes_nothing() -> None:
    followed = tree(workflow(State.RUNNING, version=5), action(0, State.RUNNING, version=5))
    assert followed.apply(event(workflow(version=4))) is None
    assert followed.apply(event(action(0, version=5))) is None
    assert followed.workflow is not None
    assert followed.workflow.state is State.RUNNING
    assert followed.actions[0].state is State.RUNNING


def test_a_newer_event_is_taken() -> None:
    followed = running()
    changed = followed.apply(event(action(1, State.SUCCEEDED, version=2)))
    assert changed == followed.actions[1]
    assert followed.actions[1].state is State.SUCCEEDED


def test_events_of_others_are_left_alone() -> None:
    followed = running()
    other = event(workflow(State.FAILED, version=9), event_type=EventType.WORKFLOW_FAILED)
    object.__setattr__(other, "resource_id", "another")
    assert followed.apply(other) is None
    assert not followed.is_over


def test_a_new_list_tells_what_differs_with_the_end_of_the_workflow_last() -> None:
    followed = running()
    done = [action(i, State.SUCCEEDED) for i in range(3)]
    changed = followed.replace(workflow(State.SUCCEEDED), done)
    assert changed == [*done, workflow(State.SUCCEEDED)]
    assert followed.replace(workflow(State.SUCCEEDED), done) == []
    assert followed.has_succeeded


def test_only_the_last_lines_of_the_latest_attempt_are_kept() -> None:
    followed = running()
    runs = followed.actions[1]
    followed.add(LogLine("a1", 1, 1, "of the first attempt"))
    assert followed.tail(runs) == []
    for number in range(1, 9):
        followed.add(LogLine("a1", 2, number, f"line {number}"))
    followed.add(LogLine("a1", 1, 2, "late"))
    assert followed.tail(runs) == [f"line {number}" for number in range(9 - workflow_tree.TAIL_LINES, 9)]


def test_each_action_says_what_it_waits_for() -> None:
    followed = tree(workflow(), action(0), action(1, worker_id="w2"))
    first, second = followed.actions
    assert followed.wait(first, at(5)) == "not started, waits for worker w1"
    assert followed.wait(second, at(5)) == "waits for os/a"
    followed.apply(event(workflow(State.RUNNING, version=2)))
    followed.apply(event(action(0, State.PENDING, attempt=1, version=2)))
    assert followed.wait(followed.actions[0], at(5)) == "waits for attempt 2 by worker w1"
    followed.apply(event(action(0, State.SUCCEEDED, attempt=2, version=3)))
    assert followed.wait(followed.actions[0], at(5)) == ""
    assert followed.wait(followed.actions[1], at(5)) == "waits for worker w2"


def test_an_action_that_is_repeated_says_when() -> None:
    failed = {"attempt": 1, "retries": 3, "updated_at": at(1), "retry_at": at(9)}
    followed = tree(workflow(State.RUNNING), action(0, State.PENDING, **failed))
    waiting = followed.actions[0]
    assert followed.wait(waiting, at(1)) == "retries in 8s"
    assert followed.wait(waiting, at(8.5)) == "retries in 1s"
    assert followed.wait(waiting, at(9)) == "waits for attempt 2 by worker w1"


def test_a_workflow_that_has_not_begun_says_which_other_one_keeps_it_waiting() -> None:
    followed = tree(workflow(), action(0))
    held = WorkflowContext(ID, waits_for_workflow="other", waits_for_worker="w1")
    assert followed.hold(held) == followed.actions[0]
    assert followed.hold(held) is None
    assert followed.wait(followed.actions[0], at(5)) == "not started, waits for workflow other, which runs on worker w1"
    assert followed.hold(WorkflowContext(ID)) == followed.actions[0]
    assert followed.wait(followed.actions[0], at(5)) == "not started, waits for worker w1"


def test_nothing_waits_once_the_workflow_is_over() -> None:
    followed = tree(workflow(State.CANCELLED), action(0, State.CANCELLED), action(1))
    assert followed.wait(followed.actions[1], at(5)) == ""
    assert followed.current is None


WHERE = {"task_name": "os", "action_name": "disk"}


@pytest.mark.parametrize(
    ("state", "cause", "sentence"),
    [
        (
            State.FAILED,
            {"reason": "ACTION_FAILED", "message": "no space", "exit_code": 28, **WHERE},
            "ended as FAILED: action os/disk failed with exit code 28: no space",
        ),
        (
            State.TIMEOUT,
            {"reason": "ACTION_TIMEOUT", "message": "", **WHERE},
            "ended as TIMEOUT: action os/disk ran longer than its timeout",
        ),
        (
            State.TIMEOUT,
            {"reason": "GLOBAL_TIMEOUT", "message": "too late", **WHERE},
            "ended as TIMEOUT: it ran longer than its timeout of 60 s, during action os/disk: too late",
        ),
        (
            State.CANCELLED,
            {"reason": "CANCELLED", "message": "enough"},
            "ended as CANCELLED: it was cancelled: enough",
        ),
        (
            State.FAILED,
            {"reason": "ACTION_FAILED", "message": "no", "recovery": {"template": "r", "workflow_id": "w2"}, **WHERE},
            "ended as FAILED: action os/disk failed: no; workflow w2 recovers it, by template r",
        ),
        (
            State.TIMEOUT,
            {"reason": "NEW", "message": "odd", "recovery": {"template": "r", "error": "it is gone"}},
            "ended as TIMEOUT: NEW: odd; its recovery by template r could not be started: it is gone",
        ),
        (State.FAILED, {"reason": "NEW", "message": "odd", **WHERE}, "ended as FAILED: NEW in os/disk: odd"),
        (State.FAILED, {"reason": "ACTION_FAILED"}, "ended as FAILED: ACTION_FAILED"),
        (State.FAILED, None, "ended as FAILED"),
    ],
)
def test_the_outcome_is_one_sentence_with_the_cause(
    state: State, cause: dict[str, object] | None, sentence: str
) -> None:
    assert tree(workflow(state, cause=cause, global_timeout_seconds=60)).outcome() == f"workflow {ID} {sentence}"


def test_a_workflow_that_is_deleted_is_over_and_has_not_succeeded() -> None:
    followed = running()
    followed.apply(event(workflow(State.RUNNING, version=9), event_type=EventType.DELETED))
    assert followed.is_over
    assert not followed.has_succeeded
    assert followed.outcome() == f"workflow {ID} was deleted before it was finished"


def test_the_action_to_look_at_is_the_one_that_ended_the_workflow() -> None:
    actions = [action(0, State.SUCCEEDED), action(1, State.CANCELLED), action(2, State.CANCELLED)]
    cancelled = tree(workflow(State.CANCELLED, cause={"action_id": "a1"}), *actions)
    assert cancelled.focus == actions[1]
    failed = tree(workflow(State.FAILED), actions[0], action(1, State.FAILED), actions[2])
    assert failed.focus == action(1, State.FAILED)
    assert tree(workflow(State.SUCCEEDED), *[action(i, State.SUCCEEDED) for i in range(3)]).focus is None


def test_what_remains_of_a_running_action_tells_the_time_of_the_answer() -> None:
    runs = action(0, State.RUNNING, started_at=at(10), timeout_seconds=60, remaining_seconds=50.0)
    assert workflow_tree.moment_of_answer(workflow(State.RUNNING), [action(1), runs]) == at(20)


def test_a_workflows_deadline_counts_where_it_comes_first() -> None:
    runs = action(0, State.RUNNING, started_at=at(10), timeout_seconds=60, remaining_seconds=5.0)
    limited = workflow(State.RUNNING, started_at=at(0), global_timeout_seconds=30)
    assert workflow_tree.moment_of_answer(limited, [runs]) == at(25)


def test_without_a_deadline_an_answer_does_not_tell_its_time() -> None:
    assert workflow_tree.moment_of_answer(workflow(State.RUNNING), [action(0, State.RUNNING, started_at=at(1))]) is None
