"""What becomes of a workflow as plain lines."""

from collections.abc import Iterable

from unit.cli.following import ID, action, at, event, tree, workflow

from tinkwell.cli.workflow import line as workflow_line
from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.client import Action, Workflow
from tinkwell.core.event.kinds import State

TIME = "2026-11-20T12:00:10.000Z"


def said(lines: workflow_line.Lines, tree: workflow_tree.Tree, resources: Iterable[Workflow | Action]) -> list[str]:
    """The lines after each of these became so, without the time."""
    result = []
    for resource in resources:
        changed = tree.apply(event(resource))
        assert changed is not None
        result += [line.removeprefix(f"{TIME}  ") for line in lines.of(changed, at(10))]
    return result


def test_a_workflow_is_told_from_its_beginning_to_its_end() -> None:
    followed = workflow_tree.Tree(ID)
    lines = workflow_line.Lines(followed)
    listed = followed.replace(workflow(total_actions=2), [action(0), action(1)])
    begun = [line for resource in listed for line in lines.of(resource, followed.moment(resource))]
    assert begun == [
        f"2026-11-20T12:00:00.000Z  WORKFLOW  PENDING    {ID}  hello  0/2",
        "2026-11-20T12:00:00.000Z  ACTION    PENDING    os/a  not started, waits for worker w1",
    ]
    runs = {"attempt": 1, "started_at": at(1)}
    ended = {"finished_at": at(3.21), "exit_code": 0, "message": "exited with code 0", **runs}
    changes: list[Workflow | Action] = [
        workflow(State.RUNNING, total_actions=2, version=2),
        action(0, State.RUNNING, version=2, **runs),
        action(0, State.SUCCEEDED, version=3, **ended),
        workflow(State.RUNNING, total_actions=2, completed_actions=1, version=3),
        action(1, State.RUNNING, version=2, **runs),
        action(1, State.SUCCEEDED, version=3, **ended),
        workflow(State.SUCCEEDED, total_actions=2, completed_actions=2, version=4, started_at=at(1), finished_at=at(9)),
    ]
    assert said(lines, followed, changes) == [
        f"WORKFLOW  RUNNING    {ID}  hello  0/2",
        "ACTION    RUNNING    os/a  attempt 1",
        "ACTION    SUCCEEDED  os/a  attempt 1  2.2s  exit 0  exited with code 0",
        f"WORKFLOW  RUNNING    {ID}  hello  1/2",
        "ACTION    RUNNING    os/b  attempt 1",
        "ACTION    SUCCEEDED  os/b  attempt 1  2.2s  exit 0  exited with code 0",
        f"WORKFLOW  SUCCEEDED  {ID}  hello  2/2  8.0s",
    ]


def test_each_attempt_is_told_and_when_the_next_one_comes() -> None:
    followed = tree(workflow(State.RUNNING, recovers="w0"), action(0))
    lines = workflow_line.Lines(followed)
    cause = {"reason": "ACTION_FAILED", "recovery": {"template": "r", "workflow_id": "w2"}}
    failed = {"exit_code": 3, "message": "exited with code 3", "retries": 1, "attempt": 1}
    changes: list[Workflow | Action] = [
        action(0, State.RUNNING, version=2, attempt=1, retries=1),
        action(0, State.PENDING, version=3, updated_at=at(10), retry_at=at(15), **failed),
        action(0, State.RUNNING, version=4, attempt=2, retries=1),
        workflow(State.FAILED, version=2, cause=cause, recovers="w0"),
    ]
    assert said(lines, followed, changes) == [
        "ACTION    RUNNING    os/a  attempt 1 of 2",
        "ACTION    PENDING    os/a  attempt 1 of 2  exit 3  retries in 5s  exited with code 3",
        "ACTION    RUNNING    os/a  attempt 2 of 2",
        f"WORKFLOW  FAILED     {ID}  hello  recovers w0  0/3  ACTION_FAILED, recovered by w2",
    ]


def test_a_change_that_a_line_does_not_show_is_no_line() -> None:
    followed = tree(workflow(State.RUNNING), action(0, State.RUNNING, attempt=1))
    lines = workflow_line.Lines(followed)
    changes = [action(0, State.RUNNING, attempt=1, version=version, updated_at=at(version)) for version in (2, 3)]
    assert said(lines, followed, changes) == ["ACTION    RUNNING    os/a  attempt 1"]


def test_a_retry_says_that_the_action_waits_again_and_why() -> None:
    followed = tree(workflow(State.RUNNING), action(0, State.RUNNING, attempt=1))
    waits = action(0, State.PENDING, attempt=1, version=2, message="the agent was lost")
    assert said(workflow_line.Lines(followed), followed, [waits]) == [
        "ACTION    PENDING    os/a  attempt 1  waits for attempt 2 by worker w1  the agent was lost"
    ]


def test_a_handover_says_which_worker_is_waited_for() -> None:
    followed = tree(workflow(State.RUNNING), action(0, State.RUNNING), action(1, worker_id="w2"))
    told = said(workflow_line.Lines(followed), followed, [action(0, State.SUCCEEDED, version=2)])
    assert told == ["ACTION    SUCCEEDED  os/a", "ACTION    PENDING    os/b  waits for worker w2"]


def test_a_failure_is_told_with_its_cause() -> None:
    followed = tree(workflow(State.RUNNING))
    cause = {"reason": "ACTION_FAILED", "task_name": "os", "action_name": "b", "message": "no", "exit_code": 3}
    told = said(workflow_line.Lines(followed), followed, [workflow(State.FAILED, cause=cause, version=2)])
    assert told == [f"WORKFLOW  FAILED     {ID}  hello  0/3  ACTION_FAILED in os/b, exit 3: no"]


def test_nothing_in_a_line_moves_the_cursor_or_breaks_it() -> None:
    followed = tree(workflow(State.RUNNING), action(0, State.RUNNING))
    hostile = action(0, State.FAILED, version=2, name="\x1b[2Ja\n", task_name="t\r", message="\x07[red]b\x9b1m\u202e")
    assert said(workflow_line.Lines(followed), followed, [hostile]) == [
        "ACTION    FAILED     t\\r/\\x1b[2Ja\\n  \\x07[red]b\\x9b1m\\u202e"
    ]
