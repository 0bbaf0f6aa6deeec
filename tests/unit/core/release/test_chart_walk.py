"""What holds of charts by chance, whichever part waits for which: every edge, barrier and reverse is kept.

The plans are walked by an executor that has a clock and no containers. What must hold is read off the charts, not off
the plans.
"""

import itertools
import os
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pytest
from unit.core.release_chart_plan import draw_charts, existing

from support.thorough import few
from tinkwell.core.release import walk
from tinkwell.core.release.graph import build
from tinkwell.core.release.kinds import NodeState, NodeTask, OnFailure, PlanKind, Wait
from tinkwell.core.release.manifest.name import split_chart
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import Plan

SEEDS = range(20)
# So many for each way to wait; thousands of them take minutes.
CASES = int(os.environ.get("RANDOM_CHARTS", "40"))


class Walked:
    """What became of the real nodes of a plan, and when they began and ended; a moment is a time and a number."""

    def __init__(self, plan: Plan) -> None:
        self._tasks = {node.path: node.task for node in plan.nodes}
        self._numbers = itertools.count()
        self.states = {node.path: NodeState.PENDING for node in plan.real}
        self.began: dict[str, tuple[float, int]] = {}
        self.ended: dict[str, tuple[float, int]] = {}
        self.seconds = 0.0

    def begin(self, path: str) -> None:
        is_installed = self._tasks[path] is NodeTask.INSTALL
        self._move(path, NodeState.INSTALLING if is_installed else NodeState.REMOVING)

    def end(self, path: str, *, is_done: bool) -> None:
        done = NodeState.READY if self._tasks[path] is NodeTask.INSTALL else NodeState.REMOVED
        self._move(path, done if is_done else NodeState.FAILED)

    def skip(self, path: str) -> None:
        self._move(path, NodeState.SKIPPED)

    def _move(self, path: str, state: NodeState) -> None:
        self.states[path] = state
        (self.ended if state.is_final else self.began)[path] = (self.seconds, next(self._numbers))


def run(
    plan: Plan,
    seconds: Mapping[str, float],
    *,
    failing: Collection[str] = (),
    on_failure: OnFailure = OnFailure.CONTINUE,
    parallel: int = 10_000,
) -> Walked:
    """Walk a plan to its end."""
    walked = Walked(plan)
    working: dict[str, float] = {}
    while True:
        survey = walk.Survey(plan, walked.states)
        has_failed = any(
            walked.states[node.path] is NodeState.FAILED for node in plan.real if node.kind is not PlanKind.CHART
        )
        closing = survey.closing()
        for each in closing:
            walked.end(each.path, is_done=each.blocker is None)
        begun = [] if has_failed and on_failure is OnFailure.STOP else go_on(walked, survey, parallel)
        working |= {path: walked.seconds + seconds[path] for path in begun if path in seconds}
        if not closing and not begun:
            if not working:
                return walked
            path = min(working, key=lambda each: (working[each], each))
            walked.seconds = working.pop(path)
            walked.end(path, is_done=path not in failing)


def go_on(walked: Walked, survey: walk.Survey, parallel: int) -> list[str]:
    """Skip and begin what there is to be skipped and begun, and return its paths."""
    skipped = [path for path, _ in survey.hopeless()]
    for path in skipped:
        walked.skip(path)
    begun = [*(node.path for node in survey.opening()), *survey.audible(), *survey.startable(parallel=parallel)]
    for path in begun:
        walked.begin(path)
    return [*begun, *(f"skipped {path}" for path in skipped)]


def inside(rendered: RenderedManifest, chart: str) -> list[str]:
    """Return the resources of a chart and all that is in it."""
    return [path for path in rendered.resources if path.startswith((f"{chart}:", f"{chart}."))]


@dataclass(frozen=True)
class Rule:
    """Some nodes begin after others: once these are done or, if it `is_soft`, once they have ended."""

    before: frozenset[str]
    after: frozenset[str]
    is_soft: bool = False


def rules(rendered: RenderedManifest, wait: Wait) -> list[Rule]:
    """Return in which order the resources of charts are installed."""
    found = [
        Rule(frozenset(resource.prerequisites), frozenset({path})) for path, resource in rendered.resources.items()
    ]
    if wait is Wait.NONE:
        return found
    for path, chart in rendered.charts.items():
        own = frozenset(each for each in rendered.resources if split_chart(each)[0] == path)
        parts = {name: frozenset(inside(rendered, f"{path}.{name}")) for batch in chart.batches for name in batch}
        parts[path.rpartition(".")[2]] = own
        found += [Rule(parts[before], parts[after]) for before, after in chart.edges]
        batches = [frozenset().union(*(parts[name] for name in batch)) for batch in chart.batches]
        earlier = frozenset().union(*batches[:-1])
        found.append(Rule(earlier, own, is_soft=True))
        if wait is Wait.ORDERED:
            found += [
                Rule(frozenset().union(*batches[:place]), batch, is_soft=True) for place, batch in enumerate(batches)
            ]
    return found


def reversed_rules(of: list[Rule]) -> list[Rule]:
    return [Rule(rule.after, rule.before, is_soft=rule.is_soft) for rule in of]


def check_order(walked: Walked, of: list[Rule]) -> None:
    for rule in of:
        for path in rule.after & walked.began.keys():
            assert all(before in walked.ended for before in rule.before)
            assert all(walked.ended[before] < walked.began[path] for before in rule.before)
            assert rule.is_soft or all(walked.states[before] in walk.DONE for before in rule.before)


def check_charts(walked: Walked, rendered: RenderedManifest) -> None:
    """Check that a chart begins before all that is in it and ends after that, well only if that did."""
    for chart in rendered.charts:
        within = [*inside(rendered, chart), *(other for other in rendered.charts if other.startswith(f"{chart}."))]
        for path in within:
            if path in walked.began:
                assert walked.began[chart] < walked.began[path]
            if chart in walked.ended and chart in walked.began:
                assert walked.ended[path] < walked.ended[chart]
        is_done = all(walked.states[path] in walk.DONE for path in within)
        assert (walked.states[chart] in walk.DONE) <= is_done
        if walked.states[chart] is NodeState.FAILED:
            assert not is_done


def plans(rendered: RenderedManifest, wait: Wait) -> tuple[Plan, Plan]:
    """Return the plan that installs charts and the one that uninstalls them."""
    installation = build.build_plan(rendered, [], {}, wait=wait)
    removal = build.build_plan(None, existing(dict.fromkeys(rendered.resources, 1)), {1: installation})
    for plan in (installation, removal):
        assert Plan.load(plan.dump()) == plan
    return installation, removal


def check_case(chance: random.Random, wait: Wait) -> None:
    rendered = draw_charts(chance.choice)
    seconds = {path: chance.choice((1.0, 2.0, 5.0)) for path in rendered.resources}
    of = rules(rendered, wait)
    for plan, kept in zip(plans(rendered, wait), (of, reversed_rules(of)), strict=True):
        walked = run(plan, seconds, parallel=chance.choice((1, 3, 100)))
        assert all(state in walk.DONE for state in walked.states.values())
        check_order(walked, kept)
        failing = {path for path in rendered.resources if chance.random() < 0.15}
        on_failure = chance.choice((OnFailure.STOP, OnFailure.CONTINUE, OnFailure.CONTINUE))
        failed = run(plan, seconds, failing=failing, on_failure=on_failure)
        check_order(failed, kept)
        assert on_failure is OnFailure.STOP or all(state.is_final for state in failed.states.values())
        if plan.resources:
            check_charts(walked, rendered)
            check_charts(failed, rendered)


@pytest.mark.parametrize("wait", Wait)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_edge_barrier_and_reverse_is_kept(seed: int, wait: Wait) -> None:
    chance = random.Random(seed)
    for _ in range(CASES // len(SEEDS)):
        check_case(chance, wait)


@pytest.mark.parametrize("seed", few(range(5), 1))
def test_eager_is_never_slower_than_ordered_nor_none_than_eager(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        rendered = draw_charts(chance.choice)
        seconds = {path: chance.uniform(1.0, 9.0) for path in rendered.resources}
        for place in (0, 1):
            took = {wait: run(plans(rendered, wait)[place], seconds).seconds for wait in Wait}
            assert took[Wait.NONE] <= took[Wait.EAGER] <= took[Wait.ORDERED]


@pytest.mark.parametrize("wait", Wait)
def test_what_a_removal_keeps_is_exactly_the_reverse_of_its_installation(wait: Wait) -> None:
    chance = random.Random(wait)
    for _ in range(30):
        installation, removal = plans(draw_charts(chance.choice), wait)
        assert {(after, before) for before, after in order_of(installation)} == order_of(removal)


def order_of(plan: Plan) -> set[tuple[str, str]]:
    """Return the pairs of resources of which one comes after the other."""
    before: dict[str, set[str]] = {}
    resources = {node.path for node in plan.nodes if node.kind is PlanKind.RESOURCE}
    for node in plan.nodes:
        before[node.path] = set(node.after).union(*(before[path] for path in node.after))
    return {(other, path) for path in resources for other in before[path] & resources}
