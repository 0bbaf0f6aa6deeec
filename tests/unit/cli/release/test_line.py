"""What becomes of an operation as plain lines."""

from datetime import datetime

from unit.cli.operation import ID, at, event, failed, node, operation, running, step, tree

from tinkwell.cli.release.follow import line as release_line
from tinkwell.client import Node, Operation, Step
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeKind, NodeState, StepKind


def told(lines: release_line.Lines, changed: Node | Operation | Step, moment: datetime | None = None) -> list[str]:
    return [line.partition("  ")[2] for line in lines.of(changed, moment or at(0))]


def test_a_list_is_a_line_for_each_thing_that_is_known() -> None:
    followed = running()
    lines = release_line.Lines(followed)
    assert followed.operation is not None
    assert list(lines.of(followed.operation, at(1.5))) == [
        f"2026-11-20T12:00:01.500Z  OPERATION  RUNNING     shop  upgrade  {ID}"
    ]
    assert [told(lines, each) for each in followed.nodes] == [
        ["NODE       READY       role  0.4s  unchanged"],
        ["NODE       INSTALLING  db"],
        ["NODE       PENDING     site  waits for db"],
    ]


def test_only_steps_that_may_change_something_are_told() -> None:
    followed = running()
    lines = release_line.Lines(followed)
    db = followed.node("db")
    assert db is not None
    assert [told(lines, each) for each in db.steps] == [
        [],
        ["STEP       SUCCEEDED   db  action create-database  1.0s"],
        ["STEP       RUNNING     db  action grant  attempt 2"],
    ]
    assert told(lines, step("db", 4, State.PENDING, attempt=0)) == []
    assert told(lines, step("db", 5, State.RUNNING, StepKind.DESTROY)) == ["STEP       RUNNING     db  destroy"]


def test_the_same_is_never_told_twice() -> None:
    followed = running()
    lines = release_line.Lines(followed)
    site = followed.node("site")
    assert site is not None
    assert told(lines, site)
    followed.apply(event(node(2, "site", version=2)))
    assert told(lines, site) == []


def test_a_failure_tells_why() -> None:
    followed = failed()
    lines = release_line.Lines(followed)
    db = followed.node("db")
    assert db is not None
    assert told(lines, db.steps[0]) == ["STEP       FAILED      db  action create-role  exit 3  exited with code 3"]
    assert told(lines, db) == ["NODE       FAILED      db  7.0s  exited with code 3"]
    assert followed.operation is not None
    assert told(lines, followed.operation) == [
        f"OPERATION  FAILED      shop  upgrade  {ID}  3/3  9.3s  db: exited with code 3"
    ]


def test_nothing_in_a_line_moves_the_cursor() -> None:
    followed = tree(operation(total_nodes=1), node(0, "a", NodeState.FAILED, message="no \x1b[2Jspace"))
    (found,) = followed.nodes
    assert told(release_line.Lines(followed), found) == ["NODE       FAILED      a  no \\x1b[2Jspace"]


def test_of_events_only_those_that_fail_are_told() -> None:
    nodes = [
        node(place, f"shop/{state}", state, kind=NodeKind.EVENT, message="no" if state is NodeState.FAILED else "")
        for place, state in enumerate((NodeState.INSTALLING, NodeState.READY, NodeState.FAILED))
    ]
    lines = release_line.Lines(tree(operation(), *nodes))
    assert [text for each in nodes for text in told(lines, each)] == ["NODE       FAILED      shop/FAILED  no"]
