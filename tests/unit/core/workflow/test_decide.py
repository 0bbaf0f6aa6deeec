"""The rule that turns what is known of a workflow into commands."""

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.core.workflow import decide
from tinkwell.core.workflow.hook import Hook

WORKFLOW = "w-1"
Keys: TypeAlias = frozenset[RunKey]


def action(
    index: int,
    state: State = State.PENDING,
    *,
    worker: str = "here",
    attempt: int | None = None,
    remaining: float | None = None,
    hook: Hook | None = None,
) -> decide.ActionView:
    started = 0 if state is State.PENDING else 1
    return decide.ActionView(
        id=f"a-{index}",
        index=index,
        worker_id=worker,
        state=state,
        attempt=started if attempt is None else attempt,
        remaining_seconds=remaining,
        hook=hook,
    )


def workflow(*actions: decide.ActionView, state: State = State.RUNNING) -> decide.WorkflowView:
    holders = dict.fromkeys(("here", "there"), decide.Holder.HERE)
    return decide.WorkflowView(id=WORKFLOW, state=state, actions=tuple(actions), holders=holders)


def test_an_attempt_that_is_not_due_is_waited_for_and_what_is_left_of_the_last_one_stopped() -> None:
    waiting = replace(action(0, attempt=1), wait_seconds=4.0)
    assert ask(workflow(waiting, action(1))) == [decide.Wait(waiting, decide.WaitReason.BACKOFF, 4.0)]
    assert kinds(ask(workflow(waiting), leftover=[key(0, 1)])) == ["StopAction", "Wait"]
    assert ask(workflow(waiting), serves=frozenset()) == [decide.Wait(waiting, decide.WaitReason.NOT_SERVED)]
    due = replace(waiting, wait_seconds=None)
    assert ask(workflow(due)) == [decide.StartAction(due, key(0, 2))]


def test_nothing_starts_while_another_workflow_runs_on_a_machine_of_this_one() -> None:
    blocked = replace(workflow(action(0), action(1), state=State.PENDING), is_blocked=True)
    assert ask(blocked) == [decide.Wait(action(0), decide.WaitReason.MACHINE_BUSY)]
    assert ask(blocked, serves=frozenset()) == [decide.Wait(action(0), decide.WaitReason.NOT_SERVED)]
    assert kinds(ask(blocked, leftover=[key(0, 0)])) == ["StopAction", "Wait"]


def key(index: int, attempt: int = 1) -> RunKey:
    return RunKey(RunKind.WORKFLOW, WORKFLOW, f"a-{index}", attempt)


def ask(
    view: decide.WorkflowView,
    *,
    serves: Container[str] = frozenset({"here"}),
    running: Iterable[RunKey] = (),
    leftover: Iterable[RunKey] = (),
) -> list[decide.Command]:
    return decide.decide(view, serves=serves, running=running, leftover=leftover)


def kinds(commands: Iterable[decide.Command]) -> list[str]:
    return [type(command).__name__ for command in commands]


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([action(0), action(1)], decide.StartAction(action(0), key(0))),
        ([action(0, State.SUCCEEDED), action(1)], decide.StartAction(action(1), key(1))),
        ([action(1), action(0, State.SUCCEEDED)], decide.StartAction(action(1), key(1))),
        ([action(0, State.RUNNING), action(1)], decide.AdoptAction(action(0, State.RUNNING), key(0))),
        (
            [action(0, State.RUNNING, remaining=-3.0)],
            decide.AdoptAction(action(0, State.RUNNING, remaining=-3.0), key(0)),
        ),
        ([action(0, attempt=2)], decide.StartAction(action(0, attempt=2), key(0, 3))),
        (
            [action(0, State.SUCCEEDED), action(1, worker="there"), action(2)],
            decide.Wait(action(1, worker="there"), decide.WaitReason.NOT_SERVED),
        ),
        (
            [action(0, State.RUNNING, worker="there"), action(1)],
            decide.Wait(action(0, State.RUNNING, worker="there"), decide.WaitReason.NOT_SERVED),
        ),
    ],
)
def test_the_first_action_that_has_not_succeeded_decides(
    actions: list[decide.ActionView], expected: decide.Command
) -> None:
    assert ask(workflow(*actions)) == [expected]


@pytest.mark.parametrize("state", [State.FAILED, State.TIMEOUT, State.CANCELLED])
def test_nothing_follows_an_action_that_did_not_succeed(state: State) -> None:
    assert ask(workflow(action(0, state), action(1))) == []


def test_nothing_is_left_to_do_when_every_action_succeeded() -> None:
    assert ask(workflow(action(0, State.SUCCEEDED), action(1, State.SUCCEEDED))) == []


def test_a_workflow_without_actions_needs_nothing() -> None:
    assert ask(workflow(state=State.PENDING)) == []


def test_a_run_that_is_watched_is_left_in_peace() -> None:
    view = workflow(action(0, State.RUNNING))
    assert ask(view, running={key(0)}) == [
        decide.Wait(action(0, State.RUNNING), decide.WaitReason.RUNNING_HERE),
    ]


def test_a_view_from_before_the_start_does_not_touch_the_run() -> None:
    assert kinds(ask(workflow(action(0)), running={key(0)})) == ["Wait"]


def test_a_leftover_run_of_the_running_attempt_is_adopted() -> None:
    view = workflow(action(0, State.RUNNING))
    assert kinds(ask(view, leftover={key(0)})) == ["AdoptAction"]


def test_a_leftover_run_of_a_finished_action_is_stopped_before_the_next_starts() -> None:
    view = workflow(action(0, State.SUCCEEDED), action(1))
    assert kinds(ask(view, leftover={key(0)})) == ["StopAction", "Wait"]
    assert kinds(ask(view)) == ["StartAction"]


def test_a_superseded_attempt_is_stopped_before_the_next_starts() -> None:
    retried = workflow(action(0, State.PENDING, attempt=1))
    assert kinds(ask(retried, running={key(0, 1)})) == ["StopAction", "Wait"]
    running = workflow(action(0, State.RUNNING, attempt=2))
    assert kinds(ask(running, running={key(0, 1)})) == ["StopAction", "Wait"]


@pytest.mark.parametrize("state", [s for s in State if s.is_final])
def test_a_finished_workflow_yields_only_stops(state: State) -> None:
    view = workflow(action(0, State.SUCCEEDED), action(1, State.RUNNING), action(2), state=state)
    commands = ask(view, running={key(1)}, leftover={key(0)})
    assert kinds(commands) == ["StopAction", "StopAction"]
    assert ask(view) == []


def test_a_cancelled_action_is_stopped_with_its_reason() -> None:
    view = workflow(action(0, State.CANCELLED), state=State.CANCELLED)
    assert ask(view, running={key(0)}) == [decide.StopAction(key(0), "the action is CANCELLED")]


def test_every_run_of_a_deleted_workflow_is_stopped() -> None:
    commands = ask(decide.WorkflowView.deleted(WORKFLOW), running={key(0)}, leftover={key(1)})
    assert [command.key for command in commands if isinstance(command, decide.StopAction)] == [key(0), key(1)]


failed = action(0, State.FAILED, hook=Hook.ON_FAILURE)
hook_key = replace(key(0), hook="on-failure")


@pytest.mark.parametrize("here", [{key(0)}, {key(0), hook_key}])
@pytest.mark.parametrize("state", [State.FAILED, State.RUNNING])
def test_a_hook_is_run_or_taken_up_while_something_is_left_of_its_attempt(here: Keys, state: State) -> None:
    view = workflow(failed, action(1), state=state)
    assert ask(view, leftover=here) == [decide.RunHook(failed, hook_key)]


def test_an_attempt_that_is_watched_though_it_has_ended_makes_room_for_its_hook() -> None:
    assert ask(workflow(failed, state=State.FAILED), running={key(0)}) == [decide.RunHook(failed, hook_key)]


def test_a_hook_that_is_watched_and_its_attempt_are_left_in_peace() -> None:
    assert ask(workflow(failed, state=State.FAILED), running={hook_key}, leftover={key(0)}) == []
    assert ask(workflow(failed, state=State.FAILED), running={hook_key}) == []


def test_a_hook_whose_attempt_is_gone_is_done() -> None:
    view = workflow(failed, state=State.FAILED)
    assert ask(view, leftover={hook_key}) == [decide.StopAction(hook_key, "the action is FAILED")]
    assert ask(view) == []


def test_the_hook_of_a_machine_that_is_not_served_waits_for_whoever_serves_it() -> None:
    assert ask(workflow(failed, state=State.FAILED), serves=frozenset(), leftover={key(0), hook_key}) == []


def test_a_hook_does_not_begin_on_a_machine_that_was_let_go_and_goes_on_there() -> None:
    view = replace(workflow(failed, state=State.FAILED), holders={})
    stops = [decide.StopAction(each, "the action is FAILED") for each in (key(0), hook_key)]
    assert ask(view, leftover={key(0), hook_key}) == stops
    assert ask(view, running={hook_key}, leftover={key(0)}) == []
    from_before_the_start = replace(view, state=State.RUNNING)
    assert ask(from_before_the_start, leftover={key(0)}) == [decide.RunHook(failed, hook_key)]


@pytest.mark.parametrize(
    "view",
    [
        decide.WorkflowView.deleted(WORKFLOW),
        workflow(action(0, State.FAILED), state=State.FAILED),
        workflow(action(0, State.SUCCEEDED)),
        workflow(action(0, State.CANCELLED), state=State.CANCELLED),
        workflow(action(0, attempt=1)),
        workflow(action(0, State.RUNNING, attempt=2)),
        workflow(action(0, State.FAILED, attempt=2, hook=Hook.ON_FAILURE), state=State.FAILED),
    ],
)
def test_without_a_hook_that_is_due_every_run_is_stopped(view: decide.WorkflowView) -> None:
    commands = ask(view, running={hook_key}, leftover={key(0)})
    assert [command.key for command in commands if isinstance(command, decide.StopAction)] == [key(0), hook_key]
    assert "RunHook" not in kinds(commands)


def test_only_the_hook_of_this_very_end_is_run() -> None:
    other = replace(hook_key, hook="on-timeout")
    commands = ask(workflow(failed, state=State.FAILED), running={other}, leftover={key(0)})
    assert commands == [decide.StopAction(other, "the action is FAILED"), decide.RunHook(failed, hook_key)]


def test_a_view_from_before_the_end_does_not_touch_the_hook() -> None:
    view = workflow(action(0, State.RUNNING))
    assert kinds(ask(view, running={hook_key}, leftover={key(0)})) == ["Wait"]


def test_runs_of_other_workflows_are_nobody_s_business_here() -> None:
    other = RunKey(RunKind.WORKFLOW, "w-2", "a-9", 1)
    assert ask(decide.WorkflowView.deleted(WORKFLOW), running={other}, leftover={other}) == []


def test_all_workers_are_served_by_all() -> None:
    assert kinds(ask(workflow(action(0, worker="anything")), serves=decide.ALL_WORKERS)) == ["StartAction"]


states = st.sampled_from(list(State))


@st.composite
def views(draw: st.DrawFn) -> decide.WorkflowView:
    count = draw(st.integers(0, 5))
    actions = [
        action(
            index,
            draw(states),
            worker=draw(st.sampled_from(["here", "there"])),
            attempt=draw(st.integers(0, 2)),
            hook=draw(st.sampled_from([None, Hook.ON_FAILURE])),
        )
        for index in range(count)
    ]
    return workflow(*draw(st.permutations(actions)), state=draw(states))


mains = st.builds(key, st.integers(0, 6), st.integers(1, 3))
keys = st.frozensets(st.builds(replace, mains, hook=st.sampled_from(["", "", "on-failure"])), max_size=4)


@given(views(), keys, keys)
def test_nothing_begins_before_all_its_predecessors_succeeded(
    view: decide.WorkflowView, running: Keys, leftover: Keys
) -> None:
    for command in ask(view, running=running, leftover=leftover):
        if isinstance(command, decide.StartAction | decide.AdoptAction):
            earlier = [a for a in view.actions if a.index < command.action.index]
            assert all(a.state is State.SUCCEEDED for a in earlier)
            assert not command.action.state.is_final
            assert not view.state.is_final


@given(views(), keys, keys)
def test_an_action_of_a_worker_that_is_not_served_never_begins(
    view: decide.WorkflowView, running: Keys, leftover: Keys
) -> None:
    for command in ask(view, running=running, leftover=leftover):
        if isinstance(command, decide.StartAction | decide.AdoptAction):
            assert command.action.worker_id == "here"


@given(views(), keys, keys)
def test_at_most_one_thing_begins_and_only_while_nothing_is_stopped(
    view: decide.WorkflowView, running: Keys, leftover: Keys
) -> None:
    commands = kinds(ask(view, running=running, leftover=leftover))
    begins = [name for name in commands if name in ("StartAction", "AdoptAction")]
    assert len(begins) <= 1
    assert not (begins and "StopAction" in commands)


@given(views(), keys, keys)
def test_asking_twice_gives_the_same_and_obeying_leaves_nothing_to_obey(
    view: decide.WorkflowView, running: Keys, leftover: Keys
) -> None:
    commands = ask(view, running=running, leftover=leftover)
    assert ask(view, running=running, leftover=leftover) == commands
    stopped = {c.key for c in commands if isinstance(c, decide.StopAction)}
    begun = {c.key for c in commands if isinstance(c, decide.StartAction | decide.AdoptAction)}
    hooks = {c.key for c in commands if isinstance(c, decide.RunHook)}
    left = {key.main for key in hooks}
    again = ask(
        view,
        running=(running - stopped - left) | begun | hooks,
        leftover=(leftover - stopped - begun - hooks) | left,
    )
    if begun:
        assert kinds(again) == ["Wait"]
    assert not any(isinstance(c, decide.StopAction | decide.RunHook) for c in again)


@given(views(), keys)
def test_a_run_of_the_attempt_that_runs_is_never_stopped_while_the_workflow_lives(
    view: decide.WorkflowView, running: Keys
) -> None:
    alive = replace(view, state=State.RUNNING)
    stopped = {c.key for c in ask(alive, running=running) if isinstance(c, decide.StopAction)}
    current = {key(a.index, a.attempt) for a in alive.actions if a.state is State.RUNNING}
    assert not stopped & current


HERE, ELSEWHERE, DEAD = decide.Holder.HERE, decide.Holder.ELSEWHERE, decide.Holder.DEAD


@pytest.mark.parametrize(
    ("state", "holder", "is_here", "expected"),
    [
        (State.PENDING, None, False, "StartAction"),
        (State.PENDING, HERE, False, "StartAction"),
        (State.PENDING, ELSEWHERE, False, decide.WaitReason.HELD_ELSEWHERE),
        (State.PENDING, DEAD, False, "StartAction"),
        (State.RUNNING, None, False, "AdoptAction"),
        (State.RUNNING, HERE, False, "AdoptAction"),
        (State.RUNNING, ELSEWHERE, True, decide.WaitReason.HELD_ELSEWHERE),
        (State.RUNNING, DEAD, True, "AdoptAction"),
        (State.RUNNING, DEAD, False, decide.WaitReason.ABANDONED),
    ],
)
def test_whose_machine_it_is_decides_who_goes_on(
    state: State, holder: decide.Holder | None, *, is_here: bool, expected: str
) -> None:
    holders = {} if holder is None else {"here": holder}
    view = replace(workflow(action(0, state)), holders=holders)
    (command,) = decide.decide(view, serves={"here"}, running=(), others={key(0)} if is_here else ())
    assert expected == (command.reason if isinstance(command, decide.Wait) else type(command).__name__)


def test_what_reboots_its_machine_is_taken_up_though_nothing_of_it_is_here() -> None:
    view = replace(workflow(replace(action(0, State.RUNNING), reboots=True)), holders={"here": DEAD})
    assert kinds(ask(view)) == ["AdoptAction"]


def test_machines_are_released_once_nothing_is_left_of_a_workflow_that_is_over() -> None:
    over = replace(workflow(action(0, State.CANCELLED), state=State.CANCELLED), is_owed=True)
    assert kinds(ask(over, running={key(0)})) == ["StopAction"]
    assert kinds(ask(over, leftover={key(0)})) == ["StopAction"]
    assert decide.decide(over, serves=(), running=(), others={key(0)}) == []
    assert decide.decide(over, serves=(), running=()) == [decide.ReleaseMachines(WORKFLOW)]
    assert ask(replace(over, is_owed=False)) == []
    deleted = decide.WorkflowView.deleted(WORKFLOW, is_owed=True)
    assert ask(deleted) == [decide.ReleaseMachines(WORKFLOW)]
    assert kinds(ask(replace(workflow(action(0)), is_owed=True))) == ["StartAction"]
