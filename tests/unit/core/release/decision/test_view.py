"""The view of an operation: what is known of it, and how time passes in it."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import ACTION, FAILED, INSTALLING, OPERATION_ID, PENDING, RUNNING, STATE, install, plan

from tinkwell.core.event.kinds import State
from tinkwell.core.release import cause, report
from tinkwell.core.release.decision.view import (
    InitFacts,
    NodeSpec,
    NodeView,
    OperationView,
    Retry,
    Settings,
    StepKey,
    StepView,
    Timeouts,
)
from tinkwell.core.release.kinds import NodeState
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import Call


def step(ordinal: int = 1, **fields: Any) -> StepView:
    given: dict[str, Any] = {"kind": ACTION, "state": PENDING, "attempt": 1, "call": Call(name="create")}
    return StepView(ordinal=ordinal, **given | fields)


def view(*nodes: NodeView, **fields: Any) -> OperationView:
    made = plan(*(install(each.path) for each in nodes))
    given: dict[str, Any] = {"options": Options(), "remaining_seconds": 10.0}
    return OperationView(id=OPERATION_ID, plan=made, nodes={each.path: each for each in nodes}, **given | fields)


def node(path: str = "db", *steps: StepView, **fields: Any) -> NodeView:
    return NodeView(path=path, steps=steps, spec=NodeSpec(type="image"), **fields)


def test_time_passes_for_everything_that_waits() -> None:
    waits = node("a", step(wait_seconds=3.0), step(2, wait_seconds=0.5), ready_seconds=4.0)
    idle = node("b", step())
    after = view(waits, idle, cancel_seconds=1.0).after(1.5)
    assert (after.remaining_seconds, after.cancel_seconds) == (8.5, -0.5)
    assert after.nodes["a"].ready_seconds == 2.5
    assert [each.wait_seconds for each in after.nodes["a"].steps] == [1.5, 0.0]
    assert after.nodes["b"] is idle, "what waits for nothing is not made anew"


def test_time_passes_where_nobody_cancelled() -> None:
    assert view(node()).after(11.0).cancel_seconds is None


def test_a_step_is_found_by_its_key() -> None:
    second = step(2, state=RUNNING)
    of = view(node("db", step(), second))
    assert of.step(StepKey("db", 2)) is second
    assert of.nodes["db"].key(second) == StepKey("db", 2)


def test_a_node_takes_the_place_of_its_former_self() -> None:
    of = view(node("a"), node("b"))
    after = of.with_node(replace(of.nodes["a"], state=INSTALLING))
    assert [each.state for each in after.nodes.values()] == [INSTALLING, NodeState.PENDING]
    assert of.nodes["a"].state is NodeState.PENDING


def test_the_manifest_wins_where_it_speaks() -> None:
    manifest = Settings(timeouts=Timeouts(state=1, ready=0), retry=None, concurrency_key="m")
    image = Settings(timeouts=Timeouts(state=2, action=3, ready=9, destroy=4), retry=Retry(), concurrency_key="i")
    assert manifest.over(image) == Settings(
        timeouts=Timeouts(state=1, action=3, ready=0, destroy=4), retry=Retry(), concurrency_key="m"
    )
    asked = NodeView(path="db", spec=NodeSpec(type="image", settings=manifest))
    assert asked.settings == manifest
    facts = InitFacts(state_call=Call(name="state"), settings=image)
    assert replace(asked, init=facts).settings == manifest.over(image)


@pytest.mark.parametrize(
    ("fields", "has_run"),
    [
        ({"state": State.SUCCEEDED}, True),
        ({"state": State.FAILED}, True),
        ({"state": State.TIMEOUT}, True),
        ({"state": State.CANCELLED}, False),
        ({"state": State.CANCELLED, "exit_code": 7}, True),
        ({"state": State.PENDING, "attempt": 0}, False),
    ],
)
def test_a_node_is_changed_once_an_action_has_run(fields: Any, has_run: bool) -> None:
    assert node("db", step(**fields)).is_changed is has_run
    assert not node("db", step(**fields | {"kind": STATE})).is_changed


def test_a_lost_step_is_known_by_its_message() -> None:
    assert step(state=FAILED, message="STEP_LOST: gone").is_lost
    assert not step(state=FAILED, message="gone").is_lost
    assert not step(state=RUNNING, message="STEP_LOST: gone").is_lost


def test_ids_of_steps_are_the_same_for_everybody() -> None:
    first = report.step_id(OPERATION_ID, "db", 1)
    assert first == report.step_id(OPERATION_ID, "db", 1)
    assert len({first, report.step_id(OPERATION_ID, "db", 2), report.step_id(OPERATION_ID, "db/1", 1)}) == 3


@pytest.mark.parametrize(
    ("told", "is_lost"),
    [
        ("", False),
        (cause.text(cause.Reason.NODE_FAILED, "m", path="db"), False),
        (cause.text(cause.Reason.STEP_LOST, "m", path="db"), True),
        ('["STEP_LOST"]', False),
    ],
)
def test_a_cause_says_whether_an_action_was_lost(told: str, is_lost: bool) -> None:
    assert cause.is_lost(told) is is_lost
