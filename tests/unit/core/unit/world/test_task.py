"""Tasks in a world: when they run, what they leave, and how they end."""

import pytest
from unit.core.unit_scene import PG, WEB, settle, step, told, write

from tinkwell.core import errors
from tinkwell.core.unit.effect import Effects, TaskOutcome
from tinkwell.core.unit.kinds import EventKind, Owner, TaskKind, TaskState
from tinkwell.core.unit.world import World
from tinkwell.core.unit.world.task import FORCED, LOST, REMOVED

DONE = TaskOutcome(state=TaskState.SUCCEEDED, result='{"size": 3}')


@pytest.fixture
def world() -> World:
    """Return web with two units and pg with one, which are related (2) and at rest."""
    world = World()
    world.deploy("web", WEB, 2)
    world.deploy("pg", PG)
    world.relate("web:db", "pg:db")
    settle(world)
    return world


def states(world: World) -> list[TaskState]:
    return [task.state for task in world.tasks.values()]


def test_tasks_run_one_after_the_other(world: World) -> None:
    first, second = world.run_task("web/0", "backup", {"target": "s3"}), world.run_task("web/0", arguments=["ls"])
    running = world.grant_task("web/0")
    assert running is not None
    assert (running.id, running.kind, running.parameters) == (first, TaskKind.ACTION, {"target": "s3"})
    assert world.grant_task("web/0") == running
    world.commit_task("web/0", DONE)
    assert (world.tasks[first].state, world.tasks[first].result) == (TaskState.SUCCEEDED, '{"size": 3}')
    following = world.grant_task("web/0")
    assert following is not None
    assert (following.id, following.kind, following.arguments) == (second, TaskKind.EXEC, ("ls",))
    world.commit_task("web/0", TaskOutcome(state=TaskState.FAILED, message="exit 1"))
    assert states(world) == [TaskState.SUCCEEDED, TaskState.FAILED]
    assert world.grant_task("web/0") is None
    assert world.check(is_at_rest=True) == []


def test_no_event_is_granted_before_a_task_that_is_due_nor_while_it_runs(world: World) -> None:
    world.run_task("web/0", "backup")
    world.set_config("web", {"size": 1})
    assert world.grant("web/0") is None
    assert world.grant_task("web/0") is not None
    assert world.grant("web/0") is None
    world.commit_task("web/0", DONE)
    assert world.grant("web/0") is not None
    assert world.grant_task("web/0") is None
    assert world.check() == []


def test_a_task_waits_for_the_end_of_an_event_and_of_what_follows_it_at_once(world: World) -> None:
    world.add_units("pg")
    settle(world, "pg/1")
    running = world.grant("web/0")
    assert running is not None
    assert running.event.kind is EventKind.RELATION_JOINED
    world.run_task("web/0", "backup")
    assert world.grant_task("web/0") is None
    following = world.commit("web/0")
    assert following is not None
    assert following.event.kind is EventKind.RELATION_CHANGED
    world.fail("web/0", "exit 1")
    assert world.grant_task("web/0") is None
    world.grant("web/0")
    assert world.commit("web/0") is None
    assert world.grant_task("web/0") is not None
    assert world.check() == []


def test_a_task_runs_while_an_event_has_failed(world: World) -> None:
    world.set_config("web", {"size": 1})
    world.grant("web/0")
    world.fail("web/0", "exit 1")
    world.run_task("web/0", "backup")
    assert world.grant_task("web/0") is not None
    assert world.grant("web/0") is None
    world.commit_task("web/0", DONE)
    again = world.grant("web/0")
    assert again is not None
    assert again.attempt == 2
    assert world.check() == []


def test_a_task_waits_for_the_verdict_on_a_lost_attempt(world: World) -> None:
    world.set_config("web", {"size": 1})
    world.grant("web/0")
    world.lose("web/0")
    world.run_task("web/0", "backup")
    assert world.grant_task("web/0") is None


def test_a_task_waits_for_the_end_of_the_setup(world: World) -> None:
    (added,) = world.add_units("web")
    task = world.run_task(added, "backup")
    while world.tasks[task].state is TaskState.PENDING:
        if world.grant(added):
            world.commit(added)
        else:
            world.grant_task(added)
    assert told(world, added)[-1] == "start"
    assert world.check() == []


def test_only_a_task_that_has_succeeded_leaves_something(world: World) -> None:
    for state in (TaskState.FAILED, TaskState.TIMEOUT, TaskState.CANCELLED):
        world.run_task("web/0", "backup")
        world.grant_task("web/0")
        world.commit_task("web/0", TaskOutcome(state=state), write(2, size="1"))
    assert world.bag(2, "web/0") == {}
    world.run_task("web/0", "backup")
    world.grant_task("web/0")
    world.commit_task("web/0", DONE, write(2, size="1"))
    assert world.bag(2, "web/0") == {"size": "1"}
    settle(world)
    assert told(world, "pg/0")[-1] == "db-relation-changed web/0"
    assert told(world, "web/0")[-1] == "db-relation-changed web/0"
    assert world.check(is_at_rest=True) == []


def test_a_task_whose_effects_are_refused_has_failed(world: World) -> None:
    task = world.run_task("web/0", "backup")
    world.grant_task("web/0")
    with pytest.raises(errors.CommitRefused, match="not in relation 9"):
        world.commit_task("web/0", DONE, write(9, size="1"))
    assert world.tasks[task].state is TaskState.FAILED
    assert "not in relation 9" in world.tasks[task].message


def test_a_task_that_writes_for_its_application_needs_the_lead(world: World) -> None:
    task = world.run_task("web/1", "backup")
    world.grant_task("web/1")
    with pytest.raises(errors.NotLeader):
        world.commit_task("web/1", DONE, write(2, Owner.APPLICATION, term=1, size="1"))
    assert world.tasks[task].state is TaskState.FAILED
    assert world.bag(2, "web") == {}


def test_a_task_that_was_lost_is_not_run_again(world: World) -> None:
    task = world.run_task("web/0", "backup")
    world.grant_task("web/0")
    world.lose_task("web/0")
    assert (world.tasks[task].state, world.tasks[task].message) == (TaskState.FAILED, LOST)
    assert world.grant_task("web/0") is None


def test_a_task_is_cancelled_at_once_where_it_waits_and_by_its_agent_where_it_runs(world: World) -> None:
    first, second = world.run_task("web/0", "backup"), world.run_task("web/0", "backup")
    world.grant_task("web/0")
    ended = world.cancel_task(second, actor="ann")
    assert (ended.state, ended.message) == (TaskState.CANCELLED, "it was cancelled by ann before it ran")
    asked = world.cancel_task(first)
    assert (asked.state, asked.is_cancelled) == (TaskState.RUNNING, True)
    assert world.grant_task("web/0") == asked
    world.commit_task("web/0", TaskOutcome(state=TaskState.CANCELLED))
    assert world.cancel_task(first).state is TaskState.CANCELLED
    world.run_task("web/0", "backup")
    done = world.grant_task("web/0")
    assert done is not None
    world.commit_task("web/0", DONE)
    with pytest.raises(errors.IllegalTransition, match="it is SUCCEEDED already"):
        world.cancel_task(done.id)


def test_a_unit_that_is_to_go_ends_the_task_that_it_runs_and_begins_none(world: World) -> None:
    first, second = world.run_task("web/1", "backup"), world.run_task("web/1", "backup")
    world.grant_task("web/1")
    world.remove_unit("web/1")
    assert (world.tasks[second].state, world.tasks[second].message) == (TaskState.CANCELLED, REMOVED)
    assert world.tasks[first].state is TaskState.RUNNING
    assert world.grant("web/1") is None
    world.commit_task("web/1", DONE)
    with pytest.raises(errors.IllegalTransition, match=REMOVED):
        world.run_task("web/1", "backup")
    settle(world)
    assert not world.tasks
    assert world.check(is_at_rest=True) == []


def test_a_forced_removal_ends_all_tasks(world: World) -> None:
    world.run_task("web/1", "backup")
    world.run_task("web/1", "backup")
    world.grant_task("web/1")
    world.remove_unit("web/1", is_forced=True)
    ended = [entry.data["message"] for entry in world.records() if entry.event_type == "TASK_CANCELLED"]
    assert ended == [FORCED, FORCED]
    assert world.check() == []


def test_what_a_task_is_given_and_gives_back_stands_in_no_entry_of_the_log(world: World) -> None:
    world.run_task("web/0", "backup", {"key": "hunter2"})
    world.grant_task("web/0")
    world.commit_task("web/0", TaskOutcome(state=TaskState.SUCCEEDED, result='{"key": "hunter2"}'))
    assert "hunter2" not in repr(world.records())


def test_nothing_is_ended_that_does_not_run(world: World) -> None:
    for call in (lambda: world.commit_task("web/0", DONE, Effects()), lambda: world.lose_task("web/0")):
        with pytest.raises(errors.IllegalTransition, match="no task of it runs"):
            call()
    with pytest.raises(errors.NotFound, match="task none does not exist"):
        world.cancel_task("none")
    step(world, "web/0")
