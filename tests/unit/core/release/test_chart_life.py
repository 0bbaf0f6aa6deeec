"""What holds of the events and hooks of charts by chance: they come around all that is in their chart, in their order.

What must hold is read off the charts and their hooks, not off the plans.
"""

import itertools
import random
from collections.abc import Sequence

import pytest
from unit.core.release.test_chart_walk import Rule, check_order, inside, reversed_rules, rules, run
from unit.core.release_chart_plan import chart as made
from unit.core.release_chart_plan import draw_charts, draw_life, existing

from support.thorough import few
from tinkwell.core.release import walk
from tinkwell.core.release.graph import build
from tinkwell.core.release.graph.life import Life
from tinkwell.core.release.kinds import NodeTask, OnFailure, OperationKind, PlanKind, Wait
from tinkwell.core.release.lifecycle_event.path import event_node, hook_node
from tinkwell.core.release.manifest.hook import Hook, HookEvent
from tinkwell.core.release.manifest.name import split_chart
from tinkwell.core.release.manifest.rendered import RenderedManifest, RenderedResource
from tinkwell.core.release.plan import Plan

SEEDS = range(10)
CASES = 6


def chain(manifest: RenderedManifest, path: str, event: str, *, is_heard: bool) -> list[str]:
    """Return an event and its hooks in the order in which they come; nothing where nobody hears it."""
    own = [(hook.weight, each) for each, hook in manifest.hooks.items() if split_chart(each)[0] == path]
    hooks = [each for _, each in sorted(own) if event in manifest.hooks[each].events]
    return [event_node(path, event), *(hook_node(each, event) for each in hooks)] if hooks or is_heard else []


def around(life: Life, chart: str) -> tuple[list[str], list[str]]:
    """Return what comes before and after all that is in a chart."""
    is_removal = life.manifest is None
    manifest, heard = (life.former, life.former_heard) if is_removal else (life.manifest, life.heard)
    assert manifest is not None
    verb = {OperationKind.UNINSTALL: "delete"}.get(life.kind, life.kind.lower())
    events = (f"pre-{verb}", *([verb] if chart == manifest.root else ()))
    last = (f"post-{verb}", *(("wait", "ready") if life.wait is not Wait.NONE and not is_removal else ()))

    def chains(names: Sequence[str]) -> list[str]:
        is_root = chart == manifest.root
        return [
            path
            for name in names
            for path in chain(manifest, chart, name, is_heard=is_root or name in heard.get(chart, ()))
        ]

    return chains(events), chains(last)


def life_rules(life: Life, rendered: RenderedManifest) -> list[Rule]:
    """Return in which order events and hooks come among resources, and among each other."""
    found: list[Rule] = []
    parts = {chart: around(life, chart) for chart in rendered.charts}
    for chart, (before, after) in parts.items():
        below = [other for other in rendered.charts if other.startswith(f"{chart}.")]
        within = frozenset(
            {*inside(rendered, chart), *(each for other in below for half in parts[other] for each in half)}
        )
        found += [Rule(frozenset({first}), frozenset({then})) for first, then in itertools.pairwise(before)]
        found += [Rule(frozenset({first}), frozenset({then})) for first, then in itertools.pairwise(after)]
        found += [Rule(frozenset(before), within | frozenset(after)), Rule(within, frozenset(after))]
    if life.wait is Wait.NONE or life.manifest is None:
        return found
    for chart, each in rendered.charts.items():
        own_name = chart.rpartition(".")[2]
        for first, then in each.edges:
            others = inside(rendered, f"{chart}.{then}")
            own = [path for path in rendered.resources if split_chart(path)[0] == chart]
            last = parts[f"{chart}.{first}"][1]
            found.append(Rule(frozenset(last), frozenset(own if then == own_name else others)))
    return found


def check(plan: Plan, kept: list[Rule], rendered: RenderedManifest, chance: random.Random) -> None:
    assert Plan.load(plan.dump()) == plan
    seconds = {node.path: chance.choice((0.0, 1.0, 3.0)) for node in (*plan.called, *plan.events)}
    walked = run(plan, seconds, parallel=chance.choice((1, 3, 100)))
    assert all(state in walk.DONE for state in walked.states.values())
    check_order(walked, kept)
    failing = {path for path in seconds if chance.random() < 0.1}
    on_failure = chance.choice((OnFailure.STOP, OnFailure.CONTINUE))
    failed = run(plan, seconds, failing=failing, on_failure=on_failure)
    check_order(failed, kept)
    assert on_failure is OnFailure.STOP or all(state.is_final for state in failed.states.values())


@pytest.mark.parametrize("wait", Wait)
@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_events_and_hooks_come_around_all_that_is_in_their_chart(seed: int, wait: Wait) -> None:
    chance = random.Random(seed)
    for _ in range(CASES):
        rendered = draw_charts(chance.choice)
        kind = chance.choice((OperationKind.INSTALL, OperationKind.UPGRADE))
        life = draw_life(chance.choice, kind, rendered, None, wait)
        plan = build.build_plan(life.manifest, [], {}, wait=wait, life=life)
        plain = build.build_plan(rendered, [], {}, wait=wait)
        assert plan.installation == plain, "a revision keeps its plan without events and hooks"
        assert build.build_plan(life.manifest, [], {}, life=life, stored=plan) == plan
        check(plan, [*rules(rendered, wait), *life_rules(life, rendered)], rendered, chance)
        rows = existing(dict.fromkeys(rendered.resources, 1))
        gone = draw_life(chance.choice, OperationKind.UNINSTALL, None, rendered, wait)
        removal = build.build_plan(None, rows, {1: plan}, life=gone)
        kept = [*reversed_rules(rules(rendered, wait)), *life_rules(gone, rendered)]
        check(removal, kept, rendered, chance)
        without = build.build_plan(None, rows, {1: plan})
        real = [node.path for node in removal.real if node.kind in (PlanKind.RESOURCE, PlanKind.CHART)]
        assert sorted(real) == sorted(node.path for node in without.real)


def test_a_release_without_charts_has_the_events_that_somebody_hears() -> None:
    resources = {"db": RenderedResource(type="x"), "web": RenderedResource(type="x", dependencies={"db": "db"})}
    manifest = RenderedManifest(resources=resources)
    plain = build.build_plan(manifest, [], {})
    kind = OperationKind.INSTALL
    assert build.build_plan(manifest, [], {}, life=Life(kind=kind, manifest=manifest)) == plain
    life = Life(kind=kind, manifest=manifest, heard={"": {"pre-install", "ready"}})
    assert [(node.path, node.after) for node in build.build_plan(manifest, [], {}, life=life).nodes] == [
        ("/pre-install", ()),
        ("db", ("/pre-install",)),
        ("web", ("db",)),
        ("/ready", ("web",)),
    ]


def test_a_rollback_begins_with_what_it_leaves_and_ends_with_what_it_brings_back() -> None:
    def shop(*hooks: str) -> RenderedManifest:
        both = Hook(events=(HookEvent.PRE_ROLLBACK, HookEvent.POST_ROLLBACK))
        resources = {f"shop:{name}": RenderedResource(type="x", hook=both) for name in hooks}
        return RenderedManifest(charts={"shop": made("shop")}, resources=resources)

    life = Life(kind=OperationKind.ROLLBACK, manifest=shop("old"), former=shop("new"), wait=Wait.NONE)
    plan = build.build_plan(life.manifest, [], {}, wait=Wait.NONE, life=life)
    assert [node.path for node in plan.real] == [
        *("shop/pre-rollback", "shop:new@pre-rollback", "shop/rollback"),
        *("shop/post-rollback", "shop:old@post-rollback", "shop"),
    ]


def test_an_uninstallation_tells_of_itself_though_there_is_nothing_to_remove() -> None:
    former = RenderedManifest(charts={"shop": made("shop")})
    life = Life(kind=OperationKind.UNINSTALL, manifest=None, former=former)
    plan = build.build_plan(None, [], {}, life=life)
    assert [node.path for node in plan.real] == ["shop/pre-delete", "shop/delete", "shop/post-delete"]


@pytest.mark.parametrize("kind", [OperationKind.UPGRADE, OperationKind.ROLLBACK, OperationKind.UNINSTALL])
def test_a_chart_that_goes_has_its_last_events_though_there_is_nothing_of_it_to_remove(kind: OperationKind) -> None:
    both = Hook(events=(HookEvent.PRE_DELETE, HookEvent.POST_DELETE))
    former = RenderedManifest(
        charts={
            "shop": made("shop", ("a", "b")),
            "shop.a": made("a"),
            "shop.b": made("b", ("c",)),
            "shop.b.c": made("c"),
        },
        resources={"shop.b.c:bye": RenderedResource(type="x", hook=both)},
    )
    manifest = None if kind is OperationKind.UNINSTALL else RenderedManifest(charts={"shop": made("shop")})
    heard = {"shop.a": {"post-delete"}, "shop.b": {"pre-delete", "post-delete"}}
    life = Life(kind=kind, manifest=manifest, former=former, former_heard=heard, wait=Wait.NONE)
    plan = build.build_plan(manifest, [], {}, life=life, wait=Wait.NONE)
    nodes = {node.path: node for node in plan.nodes if node.task is NodeTask.REMOVE}
    inside = [
        *("shop.b/pre-delete", "shop.b.c/pre-delete", "shop.b.c:bye@pre-delete"),
        *("shop.b.c/post-delete", "shop.b.c:bye@post-delete", "shop.b/post-delete"),
    ]
    assert [path for path in nodes if path.startswith("shop.b")] == inside
    assert [nodes[path].after for path in inside[1:]] == [(path,) for path in inside[:-1]]
    last = f"shop/post-{'delete' if manifest is None else kind.lower()}"
    assert nodes["shop.a/post-delete"].after == ("shop.b/post-delete",)
    assert nodes[last].after == ("shop.a/post-delete",)
    assert Plan.load(plan.dump()) == plan


def test_a_test_runs_the_hooks_of_subcharts_before_those_of_the_root() -> None:
    test = Hook(events=(HookEvent.TEST,))
    resources = {f"{path}:check": RenderedResource(type="x", hook=test) for path in ("shop", "shop.b", "shop.b.c")}
    charts = {
        "shop": made("shop", ("a", "b")),
        "shop.a": made("a"),
        "shop.b": made("b", ("c",)),
        "shop.b.c": made("c"),
    }
    manifest = RenderedManifest(charts=charts, resources=resources)
    life = Life(kind=OperationKind.UPGRADE, manifest=manifest, heard={"shop.a": {"pre-test"}})
    plan = build.build_test_plan(life)
    assert [node.path for node in plan.nodes] == [
        *("shop/pre-test", "shop.a/pre-test"),
        *("shop.b.c/test", "shop.b.c:check@test", "shop.b/test", "shop.b:check@test"),
        *("shop/test", "shop:check@test", "shop/post-test"),
    ]
    assert [node.after for node in plan.nodes[1:]] == [(node.path,) for node in plan.nodes[:-1]]
