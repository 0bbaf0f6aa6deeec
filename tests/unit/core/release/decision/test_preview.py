"""What is to be done about an operation that only looks, case by case."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from unit.core.release.decision.test_decide import (
    ABSENT,
    FACTS,
    STALE,
    STATE_CALL,
    VALID,
    node,
    removal,
    step,
)
from unit.core.release_model import (
    FAILED,
    INIT,
    INSTALLING,
    OPERATION_ID,
    READY,
    RUNNING,
    STATE,
    SUCCEEDED,
)

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision import outcome
from tinkwell.core.release.decision.command import Command, Finish, MoveNode, StartStep, StopStep
from tinkwell.core.release.decision.outcome import Outcome
from tinkwell.core.release.decision.preview import decide, without_actions
from tinkwell.core.release.decision.view import NodeView, OperationView, StepKey
from tinkwell.core.release.kinds import NodeState, StepKind
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import ResourceReport, StepReport

SKIPPED = NodeState.SKIPPED


def seen(nodes: Iterable[NodeView], after: dict[str, tuple[str, ...]] | None = None, **fields: Any) -> OperationView:
    views = {each.path: each for each in nodes}
    plan = Plan(
        tuple(PlanNode(path=path, task=each.task, after=(after or {}).get(path, ())) for path, each in views.items())
    )
    given: dict[str, Any] = {"remaining_seconds": 100.0, "options": Options(parallel=8)}
    return OperationView(id=OPERATION_ID, plan=plan, nodes=views, **given | fields)


def moves(commands: Sequence[Command]) -> dict[str, tuple[NodeState, str]]:
    return {each.path: (each.state, each.message) for each in commands if isinstance(each, MoveNode)}


def starts(commands: Sequence[Command]) -> list[tuple[str, StepKind]]:
    return [(each.step.path, each.kind) for each in commands if isinstance(each, StartStep)]


def ready(path: str, answer: Any) -> NodeView:
    return node(path, READY, step(1, STATE, SUCCEEDED), answer=answer)


def test_all_inits_come_first() -> None:
    view = seen([node("a", init=None), node("b")])
    assert starts(decide(view, ())) == [("a", INIT)]


def test_an_init_that_fails_takes_its_own_resource_alone() -> None:
    failed = node("a", NodeState.PENDING, step(1, INIT, FAILED, message="no such image"), init=None)
    view = seen([failed, node("b")])
    commands = decide(view, ())
    assert moves(commands)["a"] == (NodeState.FAILED, "init FAILED: no such image")
    later = seen([replace(failed, state=NodeState.FAILED), node("b")])
    assert starts(decide(later, ())) == [("b", STATE)]


def test_what_was_found_to_be_wrong_with_a_node_fails_it_alone() -> None:
    commands = decide(seen([node("a", problem="no plug"), node("b")]), ())
    assert moves(commands)["a"] == (NodeState.FAILED, "no plug")
    assert ("b", STATE) in starts(commands)


def test_state_is_asked_at_once_of_all_that_need_nothing() -> None:
    commands = decide(seen([node("a"), node("b")], options=Options(parallel=1)), ())
    assert commands == [
        MoveNode(path="a", state=INSTALLING),
        StartStep(step=StepKey("a", 1), kind=STATE, attempt=1, call=STATE_CALL, timeout_seconds=30),
    ]


@pytest.mark.parametrize("answer", [VALID, STALE, ABSENT])
def test_a_resource_is_ready_whatever_its_state_says(answer: Any) -> None:
    view = seen([node("a", INSTALLING, step(1, STATE, SUCCEEDED), answer=answer)])
    assert decide(view, ()) == [MoveNode(path="a", state=READY)]


def test_a_state_that_fails_fails_its_node_and_hides_nothing() -> None:
    broken = node("a", INSTALLING, step(1, STATE, FAILED, exit_code=3))
    view = seen([broken, node("b"), node("c")], after={"c": ("a",)})
    commands = decide(view, ())
    assert moves(commands)["a"] == (NodeState.FAILED, "state FAILED (exit 3)")
    assert starts(commands) == [("b", STATE)]
    later = seen([replace(broken, state=NodeState.FAILED), node("c")], after={"c": ("a",)})
    assert moves(decide(later, ())) == {"c": (SKIPPED, "decided at run: a is FAILED")}


def test_what_needs_something_that_is_stale_is_decided_at_run() -> None:
    view = seen([ready("a", STALE), node("b"), ready("c", VALID), node("d")], after={"b": ("a",), "d": ("c",)})
    commands = decide(view, ())
    assert moves(commands)["b"] == (SKIPPED, "decided at run: a is not as it should be")
    assert starts(commands) == [("d", STATE)]


def test_a_type_whose_state_writes_is_not_inspected() -> None:
    view = seen([node("a", init=replace(FACTS, reads_state_only=False)), node("b")], after={"b": ("a",)})
    commands = decide(view, ())
    assert moves(commands)["a"] == (SKIPPED, "not inspected: to ask image for the state may change something")
    assert starts(commands) == []


def test_removals_run_nothing_and_wait_for_nothing() -> None:
    view = seen([node("a", NodeState.FAILED), removal("gone"), removal("kept", keep=True, init=None)])
    assert decide(view, ()) == [MoveNode(path="gone", state=SKIPPED), MoveNode(path="kept", state=SKIPPED)]


def test_a_cancellation_and_the_deadline_stop_calls_at_once() -> None:
    view = seen([node("a", INSTALLING, step(1, STATE, RUNNING)), node("b")], cancel_seconds=30.0)
    key = StepKey("a", 1)
    assert decide(view, {key}) == [StopStep(step=key, reason="the operation was cancelled", state=State.CANCELLED)]
    [end] = decide(seen([node("a")], remaining_seconds=0.0), ())
    assert isinstance(end, Finish)
    assert end.state is State.TIMEOUT


def test_a_call_that_nobody_watches_is_stopped_and_asked_again() -> None:
    running = node("a", INSTALLING, step(1, STATE, RUNNING, is_former=True))
    [stop] = decide(seen([running]), ())
    assert stop == StopStep(step=StepKey("a", 1), reason="its owner is dead; it is asked again")
    asked = node("a", NodeState.PENDING, step(1, STATE, State.CANCELLED, is_former=True), is_begun=True)
    assert starts(decide(seen([asked]), ())) == [("a", STATE)]


def test_it_succeeds_though_not_all_was_looked_at() -> None:
    assert decide(seen([ready("a", STALE), node("b", SKIPPED)]), ()) == [Finish(state=SUCCEEDED)]
    assert decide(seen([]), ()) == [Finish(state=SUCCEEDED)]


def test_it_fails_where_a_call_has() -> None:
    [end] = decide(seen([ready("a", VALID), node("b", NodeState.FAILED, message="state FAILED (exit 3)")]), ())
    assert isinstance(end, Finish)
    assert end.state is FAILED
    assert json.loads(end.cause)["path"] == "b"


def test_no_action_comes_into_the_view_of_it() -> None:
    view = seen([node("a", INSTALLING, step(1, STATE, RUNNING))])
    ended = outcome.end(view, StepKey("a", 1), Outcome(state=SUCCEEDED, answer=STALE, config="{}"))
    assert any(each.kind is StepKind.ACTION for each in ended.view.nodes["a"].steps)
    settled = without_actions(ended, "a")
    assert [each.kind for each in settled.view.nodes["a"].steps] == [STATE]
    assert settled.view.nodes["a"].answer == STALE
    assert [type(each) for each in settled.reports] == [StepReport, ResourceReport]
