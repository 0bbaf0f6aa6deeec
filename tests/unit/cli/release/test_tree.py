"""What is known of one operation while it is followed."""

from unit.cli.operation import ID, at, event, failed, line, node, operation, running, step, tree

from tinkwell.cli.release.follow import tree as release_tree
from tinkwell.client import Node
from tinkwell.core.event.kinds import EventType, State
from tinkwell.core.release.kinds import NodeState, NodeTask, StepKind
from tinkwell.core.release.record import Options


def known(followed: release_tree.Tree, path: str) -> Node:
    found = followed.node(path)
    assert found is not None
    return found


def test_a_list_tells_what_is_new_and_the_operation_first() -> None:
    followed = release_tree.Tree(ID)
    nodes = [node(0, "a", NodeState.READY, step("a", 1, State.SUCCEEDED)), node(1, "b")]
    changed = followed.replace(operation(), nodes)
    assert [each.id for each in changed] == [ID, "step-a-1", "node-a", "node-b"]
    assert followed.replace(operation(), nodes) == []


def test_of_an_operation_that_is_over_the_end_comes_last() -> None:
    changed = release_tree.Tree(ID).replace(operation(State.SUCCEEDED), [node(0, "a", NodeState.READY)])
    assert [each.id for each in changed] == ["node-a", ID]


def test_an_event_that_is_older_than_the_list_changes_nothing() -> None:
    followed = tree(operation(version=5), node(0, "a", NodeState.READY, version=5))
    assert followed.apply(event(operation(State.PENDING, version=4))) is None
    assert followed.apply(event(node(0, "a", NodeState.INSTALLING, version=4))) is None
    assert known(followed, "a").state is NodeState.READY


def test_a_list_that_is_older_than_an_event_changes_nothing() -> None:
    followed = running()
    newer = node(1, "db", NodeState.READY, version=2)
    assert followed.apply(event(newer)) is not None
    assert followed.replace(operation(), [node(1, "db", NodeState.INSTALLING)]) == []
    assert known(followed, "db").state is NodeState.READY


def test_an_event_leaves_what_it_does_not_tell() -> None:
    followed = running()
    assert followed.apply(event(operation(version=2, cancel_requested=True))) is not None
    assert followed.operation is not None
    assert followed.operation.options == Options()
    assert followed.apply(event(node(1, "db", NodeState.READY, version=2, changed=True))) is not None
    assert [each.ordinal for each in known(followed, "db").steps] == [1, 2, 3]
    followed.apply(event(node(2, "site", version=2)))
    assert known(followed, "site").after == ("role", "db")


def test_a_step_may_come_before_its_node() -> None:
    followed = tree(operation())
    assert followed.apply(event(step("a", 1, State.RUNNING), event_type=EventType.STEP_STARTED)) is not None
    assert followed.node("a") is None
    followed.apply(event(node(0, "a", NodeState.INSTALLING)))
    assert [each.state for each in known(followed, "a").steps] == [State.RUNNING]


def test_what_belongs_to_other_operations_of_the_release_is_left_out() -> None:
    followed = running()
    for stranger in (
        node(7, "other", operation_id="other"),
        step("db", 9, State.RUNNING, operation_id="other"),
    ):
        assert followed.apply(event(stranger)) is None
    assert followed.node("other") is None


def test_nodes_stand_in_the_order_of_the_plan() -> None:
    followed = tree(operation(), node(2, "c"), node(0, "b"))
    followed.apply(event(node(1, "a")))
    assert [each.path for each in followed.nodes] == ["b", "a", "c"]
    assert followed.is_whole


def test_counters_and_phases_are_taken_though_no_event_tells_them() -> None:
    followed = tree(operation(total_nodes=0))
    followed.replace(operation(total_nodes=3), [])
    assert followed.operation is not None
    assert followed.operation.total_nodes == 3


def test_a_node_waits_for_those_that_are_not_done() -> None:
    followed = running()
    assert followed.wait(known(followed, "site")) == "waits for db (INSTALLING)"
    assert followed.wait(known(followed, "site"), with_states=False) == "waits for db"
    assert followed.wait(known(followed, "db")) == ""


def test_a_removal_waits_until_all_is_installed() -> None:
    old = node(2, "old", task=NodeTask.REMOVE, batch=2)
    followed = tree(operation(), node(0, "a", NodeState.INSTALLING), node(1, "b"), old)
    assert followed.wait(known(followed, "old")) == "waits for a (INSTALLING), b (PENDING)"


def test_many_others_are_counted() -> None:
    many = [node(i, f"n{i}", NodeState.INSTALLING) for i in range(5)]
    last = node(5, "last", batch=2, after=tuple(each.path for each in many))
    followed = tree(operation(total_nodes=6), *many, last)
    assert followed.wait(last, with_states=False) == "waits for n0, n1, n2 and 2 more"


def test_a_node_that_waits_for_no_other_one_waits_for_its_turn() -> None:
    followed = tree(
        operation(total_nodes=2, options=Options(parallel=1)), node(0, "a", NodeState.INSTALLING), node(1, "b")
    )
    assert followed.wait(known(followed, "b")) == "waits until fewer than 1 others are in progress"


def test_nobody_guesses_before_the_whole_plan_is_known() -> None:
    followed = tree(operation(total_nodes=9), node(1, "b", after=("a",)))
    assert followed.wait(known(followed, "b")) == ""


def test_nothing_waits_once_it_is_over() -> None:
    followed = failed()
    assert followed.is_over
    assert not followed.has_succeeded
    assert followed.wait(known(followed, "site")) == ""


def test_the_last_lines_are_those_of_the_latest_step_of_a_node() -> None:
    followed = running()
    followed.add(line("db", "created", ordinal=2))
    for number in range(1, 8):
        followed.add(line("db", f"granted {number}", number=number, ordinal=3))
    assert followed.tail(known(followed, "db")) == ["granted 7"]
    followed.apply(event(node(1, "db", NodeState.FAILED, version=2)))
    assert followed.tail(known(followed, "db")) == [f"granted {number}" for number in range(3, 8)]
    followed.add(line("db", "again", ordinal=3, attempt=2))
    assert followed.tail(known(followed, "db")) == ["again"]


def test_what_is_done_tells_nothing_more() -> None:
    followed = running()
    followed.add(line("role", "done"))
    assert followed.tail(known(followed, "role")) == []


def test_the_focus_is_on_what_failed_else_on_what_is_worked_on() -> None:
    assert (found := running().focus) is not None
    assert found.path == "db"
    assert (found := failed().focus) is not None
    assert found.path == "db"
    assert tree(operation(), node(0, "a")).focus is None


def test_the_current_step_runs_or_is_about_to_run_again() -> None:
    followed = running()
    current = followed.current_step(known(followed, "db"))
    assert current is not None
    assert current.name == "grant"
    followed.apply(event(step("db", 3, State.PENDING, name="grant", attempt=2, version=2)))
    assert (current := followed.current_step(known(followed, "db"))) is not None
    assert current.state is State.PENDING
    # An action that was never begun is not the current one.
    followed.apply(event(step("db", 3, State.PENDING, name="grant", attempt=0, version=3)))
    assert followed.current_step(known(followed, "db")) is None


def test_nodes_are_counted_by_what_became_of_them() -> None:
    followed = failed()
    assert followed.done == 3
    assert followed.count(NodeState.READY, changed=True) == 1
    assert followed.count(NodeState.READY, changed=False) == 0
    assert followed.count(NodeState.FAILED) == 1


def test_something_is_as_it_is_since_it_began_or_ended() -> None:
    followed = running()
    ended = operation(State.SUCCEEDED, started_at=at(1), updated_at=at(9), finished_at=at(8))
    assert followed.moment(ended) == at(8)
    assert followed.moment(operation(started_at=at(1), updated_at=at(9))) == at(1)
    assert followed.moment(node(0, "a", updated_at=at(9))) == at(9)
    assert followed.moment(step("a", 1, State.PENDING, started_at=at(1), updated_at=at(9))) == at(9)


def test_what_remains_of_its_time_tells_when_it_was_answered() -> None:
    answered = operation(remaining_seconds=290.0)
    assert release_tree.moment_of_answer(answered) == at(10)
    assert release_tree.moment_of_answer(operation()) is None


def test_the_actions_of_a_node_are_a_part_of_its_steps() -> None:
    followed = running()
    assert [each.kind for each in followed.actions(known(followed, "db"))] == [StepKind.ACTION, StepKind.ACTION]
