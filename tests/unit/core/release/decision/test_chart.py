"""When charts begin and end, and what becomes of the operation."""

from dataclasses import replace
from typing import Any

from unit.core.release.decision.test_decide import FACTS, STALE, ask, finished, starts, step, view
from unit.core.release_chart_plan import chart
from unit.core.release_model import INSTALLING, PENDING, READY, RECHECK, STATE

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision import outcome
from tinkwell.core.release.decision.command import MoveNode
from tinkwell.core.release.decision.view import InitFacts, NodeSpec, NodeView, StepKey
from tinkwell.core.release.graph import build
from tinkwell.core.release.kinds import NodeKind, NodeState, OnFailure, Wait
from tinkwell.core.release.manifest.rendered import RenderedManifest, RenderedResource
from tinkwell.core.release.report import Call

NODE_PENDING, FAILED, SKIPPED = NodeState.PENDING, NodeState.FAILED, NodeState.SKIPPED
MANIFEST = RenderedManifest(
    charts={"shop": chart("shop", ["store"], [("store", "shop")]), "shop.store": chart("store")},
    resources={"shop:web": RenderedResource(type="x"), "shop.store:db": RenderedResource(type="x")},
)
PLANNED = build.build_plan(MANIFEST, [], {}).nodes


def shop(root: NodeState, web: NodeState, store: NodeState, db: NodeState, *steps: Any) -> list[NodeView]:
    begun: dict[str, Any] = {"spec": NodeSpec(type="x"), "init": FACTS, "is_begun": True}
    return [
        NodeView(path="shop.store:db", state=db, steps=steps, message="no disk" if db is FAILED else "", **begun),
        NodeView(path="shop.store", kind=NodeKind.CHART, state=store),
        NodeView(path="shop:web", state=web, **begun),
        NodeView(path="shop", kind=NodeKind.CHART, state=root),
    ]


def test_a_chart_begins_before_what_is_in_it_and_takes_no_place() -> None:
    pending = shop(NODE_PENDING, NODE_PENDING, NODE_PENDING, NODE_PENDING)
    assert ask(*pending, planned=PLANNED, parallel=1) == [
        MoveNode(path="shop", state=INSTALLING),
        MoveNode(path="shop.store", state=INSTALLING),
        MoveNode(path="shop.store:db", state=INSTALLING),
        starts("shop.store:db", 1, STATE),
    ]


def test_a_chart_is_ready_once_all_in_it_is_and_then_what_waits_for_it_begins() -> None:
    ready = shop(INSTALLING, NODE_PENDING, INSTALLING, READY)
    assert ask(*ready, planned=PLANNED) == [MoveNode(path="shop.store", state=READY)]
    closed = shop(INSTALLING, NODE_PENDING, READY, READY)
    assert ask(*closed, planned=PLANNED)[0] == MoveNode(path="shop:web", state=INSTALLING)
    assert ask(*shop(INSTALLING, READY, READY, READY), planned=PLANNED) == [MoveNode(path="shop", state=READY)]
    assert finished(ask(*shop(READY, READY, READY, READY), planned=PLANNED)) == (State.SUCCEEDED, {})


def test_a_failure_stops_everything_and_the_cause_names_the_resource() -> None:
    broken = shop(INSTALLING, NODE_PENDING, INSTALLING, FAILED)
    why = "not ready: shop.store:db is FAILED"
    assert ask(*broken, planned=PLANNED) == [MoveNode(path="shop.store", state=FAILED, message=why)]
    state, cause = finished(ask(*shop(INSTALLING, NODE_PENDING, FAILED, FAILED), planned=PLANNED))
    assert (state, cause["path"], cause["message"]) == (State.FAILED, "shop.store:db", "no disk")


def test_what_depends_on_a_failed_chart_is_skipped_for_the_resource_that_failed() -> None:
    fields: dict[str, Any] = {"planned": PLANNED, "on_failure": OnFailure.CONTINUE}
    skipped = MoveNode(path="shop:web", state=SKIPPED, message="not started: shop.store:db is FAILED")
    assert skipped in ask(*shop(INSTALLING, NODE_PENDING, FAILED, FAILED), **fields)
    [failed] = ask(*shop(INSTALLING, SKIPPED, FAILED, FAILED), **fields)
    assert failed == MoveNode(path="shop", state=FAILED, message="not ready: shop.store:db is FAILED")
    assert finished(ask(*shop(FAILED, SKIPPED, FAILED, FAILED), **fields))[0] is State.FAILED


def test_the_end_of_a_chart_tells_of_no_resource() -> None:
    seen = view(*shop(INSTALLING, READY, READY, READY), planned=PLANNED)
    settled = outcome.move(seen, MoveNode(path="shop", state=READY))
    assert len(settled.reports) == 1


def test_without_waiting_readiness_is_asked_once() -> None:
    polled = InitFacts(state_call=Call(name="state"), poll_seconds=5)
    for wait, state in ((Wait.ORDERED, PENDING), (Wait.NONE, State.FAILED)):
        asked = shop(INSTALLING, NODE_PENDING, INSTALLING, INSTALLING, step(1, RECHECK, State.RUNNING))
        seen = view(*asked, planned=PLANNED)
        node = NodeView(path="shop.store:db", state=INSTALLING, steps=asked[0].steps, init=polled)
        seen = replace(seen, options=replace(seen.options, wait=wait)).with_node(node)
        ended = outcome.end(
            seen, StepKey("shop.store:db", 1), outcome.Outcome(state=State.SUCCEEDED, answer=STALE, message="differs")
        )
        assert ended.view.nodes["shop.store:db"].steps[0].state is state
