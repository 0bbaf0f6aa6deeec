"""What is to be done about an operation, case by case; what holds for any of them is in `tests/model/release`."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import (
    ACTION,
    CANCELLED,
    DESTROY,
    FAILED,
    INIT,
    INSTALLING,
    OPERATION_ID,
    PENDING,
    READY,
    RECHECK,
    REMOVING,
    RUNNING,
    STATE,
    SUCCEEDED,
    TIMEOUT,
    install,
    plan,
    remove,
)

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision.command import (
    AdoptStep,
    Command,
    Finish,
    MoveNode,
    MovePhase,
    StartStep,
    StopStep,
    Wait,
)
from tinkwell.core.release.decision.decide import decide
from tinkwell.core.release.decision.view import (
    Answer,
    InitFacts,
    NodeSpec,
    NodeView,
    OperationView,
    Settings,
    StepKey,
    StepView,
    Timeouts,
)
from tinkwell.core.release.kinds import NodeState, NodeTask, OnFailure, Phase, ResourceStatus, StepKind
from tinkwell.core.release.plan import PlanNode
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import Call

STATE_CALL, DESTROY_CALL, CREATE = Call(name="state", args=("s",)), Call(name="destroy"), Call(name="create")
FACTS = InitFacts(state_call=STATE_CALL, destroy_call=DESTROY_CALL)
VALID = Answer(status=ResourceStatus.VALID, has_state=True)
STALE = Answer(status=ResourceStatus.STALE, has_state=True, actions=(CREATE,))
ABSENT = Answer(status=ResourceStatus.STALE, has_state=False, actions=(CREATE,))
LOST = "STEP_LOST: nobody can tell"


def step(ordinal: int, kind: StepKind, state: State, attempt: int = 1, **fields: Any) -> StepView:
    calls = {ACTION: CREATE, DESTROY: DESTROY_CALL, INIT: Call(name="init")}
    return StepView(
        ordinal=ordinal, kind=kind, state=state, attempt=attempt, call=calls.get(kind, STATE_CALL), **fields
    )


def node(path: str = "db", state: NodeState = NodeState.PENDING, *steps: StepView, **fields: Any) -> NodeView:
    spec = {name: fields.pop(name) for name in ("readonly", "keep", "owned", "moved_to", "settings") if name in fields}
    given: dict[str, Any] = {"init": FACTS, "is_begun": state is not NodeState.PENDING}
    return NodeView(path=path, state=state, steps=steps, spec=NodeSpec(type="image", **spec), **given | fields)


def removal(path: str = "db", state: NodeState = NodeState.PENDING, *steps: StepView, **fields: Any) -> NodeView:
    return node(path, state, *steps, **{"task": NodeTask.REMOVE, "owned": True} | fields)


def view(*nodes: NodeView, planned: Sequence[PlanNode] = (), **fields: Any) -> OperationView:
    options = {name: fields.pop(name) for name in ("on_failure", "parallel", "accept_lost") if name in fields}
    made = planned or [(install if each.task is NodeTask.INSTALL else remove)(each.path) for each in nodes]
    is_cleaning_up = any(each.state in (REMOVING, NodeState.REMOVED) for each in nodes)
    given: dict[str, Any] = {
        "remaining_seconds": 100.0,
        "phase": Phase.CLEANUP if is_cleaning_up else Phase.APPLY,
    }
    return OperationView(
        id=OPERATION_ID,
        plan=plan(*made),
        nodes={each.path: each for each in nodes},
        options=Options(**options),
        **given | fields,
    )


def ask(*nodes: NodeView, running: Iterable[tuple[str, int]] = (), **fields: Any) -> list[Command]:
    return list(decide(view(*nodes, **fields), {StepKey(*each) for each in running}))


def starts(path: str, ordinal: int, kind: StepKind, attempt: int = 1, **fields: Any) -> StartStep:
    calls = {ACTION: CREATE, DESTROY: DESTROY_CALL, INIT: Call(name="init")}
    seconds = {ACTION: 300, DESTROY: 300}.get(kind, 30)
    given: dict[str, Any] = {"call": calls.get(kind, STATE_CALL), "timeout_seconds": seconds}
    return StartStep(step=StepKey(path, ordinal), kind=kind, attempt=attempt, **given | fields)


def finished(commands: Sequence[Command]) -> tuple[State, dict[str, Any]]:
    [end] = commands
    assert isinstance(end, Finish)
    return end.state, json.loads(end.cause) if end.cause else {}


ASKED = step(1, STATE, SUCCEEDED)


# Inits


def test_inits_come_before_the_first_change() -> None:
    known, unknown = node("a"), node("b", init=None)
    assert ask(known, unknown) == [starts("b", 1, INIT)]
    asked = replace(unknown, steps=(step(1, INIT, RUNNING),))
    assert ask(known, asked, running=[("b", 1)]) == []


def test_inits_are_asked_in_parallel_but_no_more_than_that() -> None:
    nodes = [node(path, init=None) for path in "abc"]
    assert ask(*nodes, parallel=2) == [starts("a", 1, INIT), starts("b", 1, INIT)]
    nodes[0] = node("a", NodeState.PENDING, step(1, INIT, RUNNING), init=None)
    assert ask(*nodes, parallel=2, running=[("a", 1)]) == [starts("b", 1, INIT)]


def test_what_is_left_anyway_is_not_asked_for_its_init() -> None:
    kept = removal(init=None, keep=True)
    assert MoveNode(path="db", state=NodeState.LEFT, message="left in place: the manifest says keep") in ask(kept)
    assert ask(removal(init=None)) == [starts("db", 1, INIT)]


@pytest.mark.parametrize("state", [FAILED, TIMEOUT])
@pytest.mark.parametrize("on_failure", OnFailure)
def test_all_that_is_wrong_before_the_first_change_is_told_and_ends_the_operation(
    state: State, on_failure: OnFailure
) -> None:
    broken = node("a", NodeState.PENDING, step(1, INIT, state, exit_code=2, message="no image"), init=None)
    unfit = node("b", problem="config.size: must be a number")
    assert ask(broken, unfit, node("c"), on_failure=on_failure) == [
        MoveNode(path="a", state=NodeState.FAILED, message=f"init {state} (exit 2): no image"),
        MoveNode(path="b", state=NodeState.FAILED, message="config.size: must be a number"),
    ]
    nodes = [node(path, NodeState.FAILED, is_begun=False, message="wrong") for path in "ab"]
    end, cause = finished(ask(*nodes, node("c"), on_failure=on_failure))
    assert (end, cause) == (FAILED, {"reason": "NODE_FAILED", "message": "wrong", "path": "a"})


def test_an_init_of_a_former_owner_is_asked_again() -> None:
    former = node("a", NodeState.PENDING, step(1, INIT, RUNNING, is_former=True), init=None)
    assert ask(former) == [StopStep(step=StepKey("a", 1), reason="its owner is dead; it is asked again")]
    stopped = node("a", NodeState.PENDING, step(1, INIT, CANCELLED, is_former=True), init=None)
    assert ask(stopped) == [starts("a", 2, INIT)]


# One that is installed


def test_a_node_begins_with_its_state() -> None:
    assert ask(node()) == [MoveNode(path="db", state=INSTALLING), starts("db", 1, STATE)]
    assert ask(node("db", INSTALLING)) == [starts("db", 1, STATE)], "its start was held back"


def test_what_is_valid_is_ready_and_unchanged() -> None:
    assert ask(node("db", INSTALLING, ASKED, answer=VALID)) == [MoveNode(path="db", state=READY, changed=False)]


def test_actions_run_in_their_order() -> None:
    actions = [step(2, ACTION, PENDING, 0), step(3, ACTION, PENDING, 0)]
    assert ask(node("db", INSTALLING, ASKED, *actions, answer=STALE)) == [starts("db", 2, ACTION)]
    actions[0] = step(2, ACTION, SUCCEEDED, exit_code=0)
    assert ask(node("db", INSTALLING, ASKED, *actions, answer=STALE)) == [starts("db", 3, ACTION)]


def test_after_the_actions_the_state_is_asked_again() -> None:
    done = [ASKED, step(2, ACTION, SUCCEEDED)]
    assert ask(node("db", INSTALLING, *done, answer=STALE)) == [starts("db", 3, RECHECK)]
    checked = node("db", INSTALLING, *done, step(3, RECHECK, SUCCEEDED), answer=STALE)
    assert ask(checked) == [MoveNode(path="db", state=READY, changed=True)]


def test_what_is_stale_and_readonly_fails() -> None:
    [command] = ask(node("db", INSTALLING, ASKED, answer=STALE, readonly=True))
    assert isinstance(command, MoveNode)
    assert (command.state, command.changed) == (NodeState.FAILED, False)
    assert "readonly" in command.message


def test_an_attempt_that_failed_is_waited_for_and_repeated() -> None:
    waiting = step(2, ACTION, PENDING, 1, wait_seconds=4.0)
    assert ask(node("db", INSTALLING, ASKED, waiting, answer=STALE)) == [
        Wait(path="db", reason="action create is tried again", seconds=4.0)
    ]
    due = replace(waiting, wait_seconds=0.0)
    assert ask(node("db", INSTALLING, ASKED, due, answer=STALE)) == [starts("db", 2, ACTION, 2)]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (step(2, ACTION, FAILED, exit_code=7, message="no"), "action create FAILED (exit 7): no"),
        (step(2, ACTION, TIMEOUT, 3), "action create TIMEOUT at attempt 3"),
        (step(2, RECHECK, FAILED, message="a ≠ b"), "recheck FAILED: a ≠ b"),
    ],
)
def test_a_call_without_success_fails_its_node(broken: StepView, message: str) -> None:
    left = step(3, ACTION, PENDING, 0)
    [command] = ask(node("db", INSTALLING, ASKED, broken, left, answer=STALE))
    changed = broken.kind is ACTION
    assert command == MoveNode(path="db", state=NodeState.FAILED, changed=changed, message=message)


def test_a_state_without_success_fails_its_node() -> None:
    broken = step(1, STATE, FAILED, exit_code=1, message="two documents")
    assert ask(node("db", INSTALLING, broken)) == [
        MoveNode(path="db", state=NodeState.FAILED, message="state FAILED (exit 1): two documents")
    ]


def test_what_is_not_ready_is_asked_until_its_time_is_over() -> None:
    done = [ASKED, step(2, ACTION, SUCCEEDED)]
    polled = step(3, RECHECK, PENDING, 2, wait_seconds=2.0, message="starting")
    waits = node("db", INSTALLING, *done, polled, answer=STALE, ready_seconds=9.0)
    assert ask(waits) == [Wait(path="db", reason="it is not ready yet", seconds=2.0)]
    due = replace(waits, steps=(*done, replace(polled, wait_seconds=0.0)))
    assert ask(due) == [starts("db", 3, RECHECK, 3)]
    late = replace(due, ready_seconds=-0.1)
    assert ask(late) == [
        MoveNode(path="db", state=NodeState.FAILED, changed=True, message="not ready in time: starting")
    ]


def test_timeouts_are_the_manifests_else_the_images() -> None:
    said = Settings(timeouts=Timeouts(state=5))
    image = replace(FACTS, settings=Settings(timeouts=Timeouts(state=6, action=7, destroy=8)))
    asked = node("db", INSTALLING, settings=said, init=image)
    assert ask(asked) == [starts("db", 1, STATE, timeout_seconds=5)]
    action = node("db", INSTALLING, ASKED, step(2, ACTION, PENDING, 0), settings=said, init=image, answer=STALE)
    assert ask(action) == [starts("db", 2, ACTION, timeout_seconds=7)]
    assert ask(removal("db", REMOVING, settings=said, init=image)) == [starts("db", 1, DESTROY, timeout_seconds=8)]


# The walk


def test_ready_nodes_begin_in_the_order_of_the_plan_and_no_more_than_may() -> None:
    planned = [install("c"), install("a"), install("b", "c")]
    nodes = [node("a"), node("b"), node("c")]
    begun = [command.path for command in ask(*nodes, planned=planned) if isinstance(command, MoveNode)]
    assert begun == ["c", "a"]
    begun = [command.path for command in ask(*nodes, planned=planned, parallel=1) if isinstance(command, MoveNode)]
    assert begun == ["c"]


def test_removals_come_after_everything_that_is_installed() -> None:
    busy = node("db", INSTALLING, step(1, STATE, RUNNING))
    assert ask(busy, removal("old"), running=[("db", 1)]) == []
    commands = ask(node("db", READY), removal("old"))
    assert commands == [MovePhase(Phase.CLEANUP), MoveNode(path="old", state=REMOVING)]
    assert ask(node("db", READY), removal("old"), phase=Phase.CLEANUP) == commands[1:]


def test_the_first_failure_lets_nothing_begin_and_what_was_begun_goes_on() -> None:
    failed = node("a", NodeState.FAILED, message="broken")
    begun = node("b", INSTALLING, ASKED, step(2, ACTION, PENDING, 0), answer=STALE)
    assert ask(failed, begun, node("c")) == [starts("b", 2, ACTION)]
    end, cause = finished(ask(failed, node("b", READY), node("c")))
    assert (end, cause) == (FAILED, {"reason": "NODE_FAILED", "message": "broken", "path": "a"})


def test_with_continue_only_what_comes_after_a_failed_node_is_skipped() -> None:
    planned = [install("a"), install("b", "a"), install("c", "b"), install("d"), remove("old")]
    nodes = [node("a", NodeState.FAILED), node("b"), node("c"), node("d"), removal("old")]
    why = "not started: a is FAILED"
    assert ask(*nodes, planned=planned, on_failure=OnFailure.CONTINUE) == [
        *[MoveNode(path=path, state=NodeState.SKIPPED, message=why) for path in ("b", "c", "old")],
        MoveNode(path="d", state=INSTALLING),
        starts("d", 1, STATE),
    ]


@pytest.mark.parametrize("key", ["k", ""])
def test_one_action_at_a_time_has_a_concurrency_key(key: str) -> None:
    said = Settings(concurrency_key=key)
    due = [node(path, INSTALLING, ASKED, step(2, ACTION, PENDING, 0), answer=STALE, settings=said) for path in "ab"]
    waits: Command = Wait(path="b", reason="another action has the concurrency key k")
    assert ask(*due) == [starts("a", 2, ACTION), waits if key else starts("b", 2, ACTION)]
    runs = node("a", INSTALLING, ASKED, step(2, ACTION, RUNNING), answer=STALE, settings=said)
    assert ask(runs, due[1], running=[("a", 2)]) == [waits if key else starts("b", 2, ACTION)]
    held = ask(due[1], busy_keys=frozenset({"k"}))
    assert held == [waits if key else starts("b", 2, ACTION)]


def test_calls_without_effects_need_no_concurrency_key() -> None:
    said = Settings(concurrency_key="k")
    runs = node("a", INSTALLING, ASKED, step(2, ACTION, RUNNING), answer=STALE, settings=said)
    asks = node("b", INSTALLING, settings=said)
    assert ask(runs, asks, running=[("a", 2)]) == [starts("b", 1, STATE)]


# Removals


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"moved_to": "new"}, "it goes on as new"),
        ({"keep": True}, "the manifest says keep"),
        ({"owned": False}, "it was there before this release"),
        ({"owned": None}, "nothing was done with it"),
        ({"init": InitFacts(state_call=STATE_CALL)}, "image has no destroy action"),
    ],
)
def test_what_is_not_this_releases_to_destroy_is_left(fields: dict[str, Any], why: str) -> None:
    commands = ask(removal(**fields), phase=Phase.CLEANUP)
    assert commands == [MoveNode(path="db", state=NodeState.LEFT, message=f"left in place: {why}")]


def test_a_removal_is_one_call() -> None:
    assert ask(removal("db", REMOVING)) == [starts("db", 1, DESTROY)]
    done = removal("db", REMOVING, step(1, DESTROY, SUCCEEDED))
    assert ask(done) == [MoveNode(path="db", state=NodeState.REMOVED, changed=True)]
    again = removal("db", REMOVING, step(1, DESTROY, PENDING, 1))
    assert ask(again) == [starts("db", 1, DESTROY, 2)]
    broken = removal("db", REMOVING, step(1, DESTROY, FAILED, exit_code=1))
    assert ask(broken) == [MoveNode(path="db", state=NodeState.FAILED, changed=True, message="destroy FAILED (exit 1)")]


# After a former owner


@pytest.mark.parametrize("kind", [STATE, RECHECK])
def test_calls_without_effects_are_stopped_and_a_new_round_begins(kind: StepKind) -> None:
    former = node("db", INSTALLING, step(1, kind, RUNNING, is_former=True))
    assert ask(former) == [StopStep(step=StepKey("db", 1), reason="its owner is dead; it is asked again")]
    assert ask(former, running=[("db", 1)]) == [], "it is being stopped"
    stopped = node("db", INSTALLING, step(1, kind, CANCELLED, is_former=True))
    assert ask(stopped) == [starts("db", 2, STATE)]


@pytest.mark.parametrize("kind", [ACTION, DESTROY])
def test_actions_are_adopted(kind: StepKind) -> None:
    former = step(1, kind, RUNNING, 2, is_former=True)
    begun = node("db", INSTALLING, former) if kind is ACTION else removal("db", REMOVING, former)
    assert ask(begun) == [AdoptStep(step=StepKey("db", 1), kind=kind, attempt=2, timeout_seconds=300)]
    assert ask(begun, running=[("db", 1)]) == []


def test_after_an_adopted_action_the_state_is_asked_anew() -> None:
    steps = [step(1, STATE, SUCCEEDED, is_former=True), step(2, ACTION, SUCCEEDED, is_former=True)]
    left = step(3, ACTION, PENDING, 0, is_former=True)
    assert ask(node("db", INSTALLING, *steps, left)) == [StopStep(step=StepKey("db", 3), reason="its round is over")]
    cleared = replace(left, state=CANCELLED)
    assert ask(node("db", INSTALLING, *steps, cleared)) == [starts("db", 4, STATE)]
    valid = node("db", INSTALLING, *steps, cleared, step(4, STATE, SUCCEEDED), answer=VALID)
    assert ask(valid) == [MoveNode(path="db", state=READY, changed=True)]


def test_an_adopted_action_without_success_fails_its_node() -> None:
    steps = [step(1, STATE, SUCCEEDED, is_former=True), step(2, ACTION, FAILED, is_former=True, exit_code=7)]
    [command] = ask(node("db", INSTALLING, *steps))
    assert command == MoveNode(path="db", state=NodeState.FAILED, changed=True, message="action create FAILED (exit 7)")


def test_a_removal_whose_action_has_ended_is_not_asked_again() -> None:
    done = removal("db", REMOVING, step(1, DESTROY, SUCCEEDED, is_former=True))
    assert ask(done) == [MoveNode(path="db", state=NodeState.REMOVED, changed=True)]
    never_ran = removal("db", REMOVING, step(1, DESTROY, CANCELLED, is_former=True))
    assert ask(never_ran) == [starts("db", 2, DESTROY)]


@pytest.mark.parametrize("accept_lost", [True, False])
@pytest.mark.parametrize("answer", [VALID, STALE])
def test_after_a_lost_action_the_state_decides(accept_lost: bool, answer: Answer) -> None:
    lost = step(1, ACTION, FAILED, is_former=True, message=LOST)
    assert ask(node("db", INSTALLING, lost), accept_lost=accept_lost) == [starts("db", 2, STATE)]
    due = [step(3, ACTION, PENDING, 0)] if answer is STALE and accept_lost else []
    asked = node("db", INSTALLING, lost, step(2, STATE, SUCCEEDED), *due, answer=answer)
    [command] = ask(asked, accept_lost=accept_lost)
    if answer is VALID:
        assert command == MoveNode(path="db", state=READY, changed=True)
    elif accept_lost:
        assert command == starts("db", 3, ACTION)
    else:
        assert isinstance(command, MoveNode)
        assert (command.state, command.message.partition(":")[0]) == (NodeState.FAILED, "STEP_LOST")


@pytest.mark.parametrize("accept_lost", [True, False])
@pytest.mark.parametrize("answer", [VALID, STALE, ABSENT])
def test_after_a_lost_removal_the_state_decides(accept_lost: bool, answer: Answer) -> None:
    lost = step(1, DESTROY, FAILED, is_former=True, message=LOST)
    assert ask(removal("db", REMOVING, lost), accept_lost=accept_lost) == [starts("db", 2, STATE)]
    asked = removal("db", REMOVING, lost, step(2, STATE, SUCCEEDED), answer=answer)
    [command] = ask(asked, accept_lost=accept_lost)
    if answer is ABSENT:
        assert command == MoveNode(path="db", state=NodeState.REMOVED, changed=True)
    elif accept_lost:
        assert command == starts("db", 3, DESTROY)
    else:
        assert isinstance(command, MoveNode)
        assert (command.state, command.message.partition(":")[0]) == (NodeState.FAILED, "STEP_LOST")


def test_a_lost_node_is_the_cause_before_any_other() -> None:
    nodes = [node("a", NodeState.FAILED, message="broken"), node("b", NodeState.FAILED, message=LOST)]
    end, cause = finished(ask(*nodes))
    assert (end, cause["reason"], cause["path"]) == (FAILED, "STEP_LOST", "b")


def test_an_action_that_was_lost_sight_of_here_is_looked_for() -> None:
    running = node("db", INSTALLING, ASKED, step(2, ACTION, RUNNING), answer=STALE)
    assert ask(running) == [AdoptStep(step=StepKey("db", 2), kind=ACTION, attempt=1, timeout_seconds=300)]


# The end


def test_an_operation_succeeds_once_everything_is_done() -> None:
    nodes = [node("a", READY), removal("b", NodeState.REMOVED), removal("c", NodeState.LEFT)]
    assert ask(*nodes) == [Finish(state=SUCCEEDED)]
    assert ask() == [Finish(state=SUCCEEDED)]
    assert ask(node("a", READY), running=[("a", 1)]) == []


STOPS: list[Any] = [
    ({"cancel_seconds": 30.0}, CANCELLED, 30.0),
    ({"cancel_seconds": 0.0}, CANCELLED, 0.0),
    ({"remaining_seconds": 0.0}, TIMEOUT, 30.0),
    ({"remaining_seconds": -25.0}, TIMEOUT, 5.0),
    ({"remaining_seconds": -30.0}, TIMEOUT, 0.0),
    ({"remaining_seconds": -25.0, "cancel_seconds": 10.0}, CANCELLED, 5.0),
    ({"remaining_seconds": -5.0, "cancel_seconds": 10.0}, CANCELLED, 10.0),
]


@pytest.mark.parametrize(("fields", "state", "grace"), STOPS)
def test_actions_get_their_time_and_other_calls_none(fields: Any, state: State, grace: float) -> None:
    asks = node("a", INSTALLING, step(1, STATE, RUNNING))
    acts = node("b", INSTALLING, ASKED, step(2, ACTION, RUNNING), answer=STALE)
    inits = node("c", NodeState.PENDING, step(1, INIT, RUNNING), init=None)
    stops_a, waits, stops_c = ask(asks, acts, inits, running=[("a", 1), ("b", 2), ("c", 1)], **fields)
    assert isinstance(stops_a, StopStep)
    assert isinstance(stops_c, StopStep)
    assert (stops_a.step, stops_a.state, stops_c.step) == (StepKey("a", 1), state, StepKey("c", 1))
    if grace:
        assert isinstance(waits, Wait)
        assert waits.seconds == grace
    else:
        assert isinstance(waits, StopStep)
        assert (waits.step, waits.state) == (StepKey("b", 2), state)


@pytest.mark.parametrize(("fields", "state", "grace"), STOPS)
def test_an_action_of_a_former_owner_gets_the_same_time(fields: Any, state: State, grace: float) -> None:
    [command] = ask(node("b", INSTALLING, step(1, ACTION, RUNNING, is_former=True)), **fields)
    assert isinstance(command, AdoptStep if grace else StopStep)


@pytest.mark.parametrize(("fields", "state", "grace"), STOPS)
@pytest.mark.parametrize(
    "waiting",
    [
        node(),
        node(init=None),
        node("db", INSTALLING),
        node("db", INSTALLING, ASKED, step(2, ACTION, PENDING, 0), answer=STALE),
        node("db", INSTALLING, ASKED, step(2, ACTION, SUCCEEDED), answer=STALE),
        node("db", INSTALLING, step(1, ACTION, PENDING, 0, is_former=True)),
        removal("db", REMOVING),
    ],
)
def test_nothing_begins_any_more(waiting: NodeView, fields: Any, state: State, grace: float) -> None:
    end, cause = finished(ask(waiting, **fields))
    assert end is state
    assert cause["reason"] == state


@pytest.mark.parametrize(("fields", "state", "grace"), STOPS)
def test_what_has_come_to_its_end_is_still_told(fields: Any, state: State, grace: float) -> None:
    valid = node("a", INSTALLING, ASKED, answer=VALID)
    assert ask(valid, **fields) == [MoveNode(path="a", state=READY)]
    assert ask(node("a", READY), **fields) == [Finish(state=SUCCEEDED)]


def test_the_cause_of_an_early_end_names_the_failure_before_it() -> None:
    end, cause = finished(ask(node("a", NodeState.FAILED, message="broken"), node("b", INSTALLING), cancel_seconds=0.0))
    assert end is CANCELLED
    assert cause["message"] == "the operation was cancelled, after a had failed: broken"
