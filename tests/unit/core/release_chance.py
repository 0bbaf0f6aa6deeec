"""Plans, worlds and what happens in them, by chance. Who calls says how to choose: by Hypothesis, or by a seed."""

from collections.abc import Sequence
from typing import Any

from unit.core.release_chart_plan import Choose, draw_chart_plan
from unit.core.release_model import install, plan, remove
from unit.core.release_party import Event
from unit.core.release_world import World, world

from tinkwell.core.release.decision.view import InitFacts, NodeSpec, Retry, Settings, Timeouts
from tinkwell.core.release.kinds import NodeTask, OnFailure
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import Call

SELDOM = (True, *[False] * 9)


def draw_any_plan(choose: Choose) -> Plan:
    """Draw a plan with charts or without."""
    return draw_chart_plan(choose) if choose((False, True)) else draw_plan(choose)


def draw_plan(choose: Choose) -> Plan:
    """Draw a plan with installs, each after some earlier ones, and removals, the same."""
    nodes: list[PlanNode] = []
    for task, make, sizes in ((NodeTask.INSTALL, install, range(5)), (NodeTask.REMOVE, remove, range(4))):
        paths: list[str] = []
        for index in range(choose(sizes)):
            after = {choose(paths) for _ in range(choose((0, 0, 1, 2)))} if paths else set()
            paths.append(f"{task.lower()}{index}")
            nodes.append(make(paths[-1], *sorted(after)))
    return plan(*nodes)


def draw_world(choose: Choose) -> World:
    """Draw the world of an operation."""
    drawn = draw_any_plan(choose)
    paths = [node.path for node in drawn.called]
    return world(
        drawn,
        specs={path: _draw_spec(choose) for path in paths},
        facts={path: _draw_facts(choose) for path in paths},
        known=[node.path for node in drawn.resources if choose((True, True, False))],
        problems={path: "it does not fit" for path in paths if all(choose(SELDOM) for _ in range(2))},
        options=Options(
            on_failure=choose(tuple(OnFailure)),
            parallel=choose((1, 2, 3)),
            atomic=choose((False, True)),
            accept_lost=choose((False, True)),
            readiness_timeout_seconds=choose((0, 5)),
        ),
    )


def happen(of: World, choose: Choose, *, limit: int) -> None:
    """Let things happen, at most so many."""
    for _ in range(limit):
        events = of.events()
        if not events:
            return
        rank = 0 if not choose(SELDOM) else 1 if not choose(SELDOM) else 2
        of.perform(choose([event for event in events if _rank(event) <= rank] or events))


def _rank(event: Event) -> int:
    """Return how seldom something happens: if what ends everything came often, little would come about."""
    if event.name == "cancel" or event.how == "deadline":
        return 2
    return int(event.name in ("crash", "timeout") or event.how in ("fail", "FAILED"))


def _draw_spec(choose: Choose) -> NodeSpec:
    retries: Sequence[Any] = (None, Retry(attempts=2, delay_seconds=3), Retry(attempts=3, exit_codes=(9,)))
    return NodeSpec(
        type="image",
        settings=Settings(
            timeouts=Timeouts(ready=choose((None, 7))),
            retry=choose(retries),
            concurrency_key=choose(("", "k")),
        ),
        readonly=choose(SELDOM),
        keep=choose(SELDOM),
        owned=choose((True, True, False, None)),
        moved_to="there" if choose(SELDOM) else "",
    )


def _draw_facts(choose: Choose) -> InitFacts:
    return InitFacts(
        state_call=Call(name="state"),
        destroy_call=None if choose(SELDOM) else Call(name="destroy"),
        poll_seconds=choose((None, 2)),
    )
