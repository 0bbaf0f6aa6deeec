"""Plans of charts: their gates and barriers, and the removals that mirror them."""

from collections.abc import Collection, Mapping

import pytest
from unit.core.release_chart_plan import chart, existing

from tinkwell.core import errors
from tinkwell.core.release import prerequisite
from tinkwell.core.release.graph import build
from tinkwell.core.release.kinds import NodeTask, PlanKind, Wait
from tinkwell.core.release.manifest.rendered import RenderedChart, RenderedManifest, RenderedResource
from tinkwell.core.release.plan import Plan, PlanNode

EDGES = [("nginx", "bar"), ("rabbitmq", "bar"), ("bar", "foo"), ("rabbitmq", "foo")]
CHARTS = {
    "foo": chart("foo", ["bar", "nginx", "orphaned", "rabbitmq"], EDGES),
    **{f"foo.{name}": chart(name) for name in ("bar", "nginx", "orphaned", "rabbitmq")},
}
RESOURCES: Mapping[str, Collection[str]] = {
    "foo:web": (),
    "foo.nginx:site": (),
    "foo.rabbitmq:queue": (),
    "foo.rabbitmq:user": ["foo.rabbitmq:queue"],
    "foo.bar:db": (),
    "foo.orphaned:log": (),
}


def manifest(
    charts: Mapping[str, RenderedChart] = CHARTS, resources: Mapping[str, Collection[str]] = RESOURCES
) -> RenderedManifest:
    made = {
        path: RenderedResource(type="x", dependencies={f"a{n}": other for n, other in enumerate(others)})
        for path, others in resources.items()
    }
    return RenderedManifest(charts=charts, resources=made)


def install(wait: Wait = Wait.ORDERED, **given: Mapping[str, object]) -> Plan:
    return build.build_plan(manifest(**given), [], {}, wait=wait)  # type: ignore[arg-type]  # what a test gives


def after(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {node.path: node.after for node in plan.nodes}


def test_the_example_of_the_seed_has_three_batches() -> None:
    assert CHARTS["foo"].batches == (("nginx", "rabbitmq"), ("bar",), ("orphaned", "foo"))


def test_a_chart_begins_after_its_edges_and_the_batch_before_it() -> None:
    plan = install()
    found = after(plan)
    assert found["foo.nginx/begin"] == ("foo/begin",)
    assert found["foo@1"] == ("foo.nginx", "foo.rabbitmq")
    assert found["foo.bar/begin"] == ("foo/begin", "foo.nginx", "foo.rabbitmq", "foo@1")
    assert found["foo@2"] == ("foo@1", "foo.bar")
    assert found["foo.orphaned/begin"] == ("foo/begin", "foo@2")
    assert found["foo/own"] == ("foo/begin", "foo.bar", "foo.rabbitmq", "foo@2")
    assert found["foo:web"] == ("foo/own",)
    assert found["foo.rabbitmq:user"] == ("foo.rabbitmq/own", "foo.rabbitmq:queue")
    assert plan.nodes[-1] == PlanNode(
        path="foo",
        kind=PlanKind.CHART,
        begin="foo/begin",
        after=("foo/begin", "foo.nginx", "foo.rabbitmq", "foo.bar", "foo.orphaned", "foo:web"),
    )
    batches = {node.path: node.batch for node in plan.real}
    assert (batches["foo.nginx"], batches["foo.bar"], batches["foo.orphaned"], batches["foo"]) == (1, 2, 3, 1)
    assert (batches["foo.rabbitmq:queue"], batches["foo.rabbitmq:user"], batches["foo:web"]) == (1, 2, 1)


def test_eager_has_one_barrier_and_it_is_before_what_is_the_charts_own() -> None:
    plan = install(Wait.EAGER)
    found = after(plan)
    assert [node.path for node in plan.nodes if node.kind is PlanKind.BARRIER] == ["foo@2"]
    assert found["foo@2"] == ("foo.nginx", "foo.rabbitmq", "foo.bar")
    assert found["foo.bar/begin"] == ("foo/begin", "foo.nginx", "foo.rabbitmq")
    assert found["foo.orphaned/begin"] == ("foo/begin",)
    assert found["foo/own"] == ("foo/begin", "foo.bar", "foo.rabbitmq", "foo@2")


def test_none_has_nothing_between_charts() -> None:
    plan = install(Wait.NONE)
    found = after(plan)
    assert not any(node.kind is PlanKind.BARRIER for node in plan.nodes)
    assert {found[f"{path}/begin"] for path in CHARTS if path != "foo"} == {("foo/begin",)}
    assert found["foo/own"] == ("foo/begin",)
    assert found["foo.rabbitmq:user"] == ("foo.rabbitmq/own", "foo.rabbitmq:queue")


def test_an_edge_that_the_batches_do_not_keep_is_refused() -> None:
    wrong = RenderedChart(name="foo", version="1", batches=(("a", "b", "foo"),), edges=(("a", "b"),))
    with pytest.raises(errors.InvalidField, match=r"^charts.foo.edges: has a → b, but the batch of b does not come"):
        install(charts={"foo": wrong, "foo.a": chart("a"), "foo.b": chart("b")}, resources={})


def test_an_uninstallation_mirrors_the_plan_of_its_revision() -> None:
    plan = build.build_plan(None, existing(dict.fromkeys(RESOURCES, 7)), {7: install()})
    found = after(plan)
    assert all(node.task is NodeTask.REMOVE for node in plan.nodes)
    assert [node.path for node in plan.real] == [
        *("foo:web", "foo.orphaned:log", "foo.orphaned", "foo.bar:db", "foo.bar"),
        *("foo.rabbitmq:user", "foo.rabbitmq:queue", "foo.rabbitmq", "foo.nginx:site", "foo.nginx", "foo"),
    ]
    assert found["foo@2~7"] == ("foo:web", "foo.orphaned")
    assert found["foo.bar~7"] == ("foo:web", "foo@2~7")
    assert found["foo.bar:db"] == ("foo.bar~7",)
    assert found["foo.nginx~7"] == ("foo.bar", "foo@1~7")
    nodes = {node.path: node for node in plan.nodes}
    assert (nodes["foo.bar"].begin, nodes["foo"].begin) == ("foo.bar~7", "")
    assert [nodes[f"foo.{name}"].batch for name in ("orphaned", "bar", "nginx")] == [1, 2, 3]


@pytest.mark.parametrize("wait", Wait)
def test_what_an_upgrade_adds_comes_in_its_batch_whatever_is_there(wait: Wait) -> None:
    former = {path: those for path, those in RESOURCES.items() if not path.startswith("foo.bar:")}
    charts = {path: each for path, each in CHARTS.items() if path not in ("foo", "foo.bar")}
    root = chart("foo", ["nginx", "orphaned", "rabbitmq"], [("rabbitmq", "foo")])
    before = install(charts={"foo": root, **charts}, resources=former)
    plan = build.build_plan(manifest(), existing(dict.fromkeys(former, 1)), {1: before}, wait=wait)
    assert plan == install(wait)


def test_what_was_installed_in_no_order_is_removed_in_none() -> None:
    plan = build.build_plan(None, existing(dict.fromkeys(RESOURCES, 1)), {1: install(Wait.NONE)})
    found = prerequisite.named(plan.nodes)
    waiting = {path: those for path, those in found.items() if path in RESOURCES and those}
    assert waiting == {"foo.rabbitmq:queue": ("foo.rabbitmq:user",)}


def test_a_chart_that_stays_is_only_a_gate_where_something_in_it_is_removed() -> None:
    kept = {path: those for path, those in RESOURCES.items() if path not in ("foo:web", "foo.rabbitmq:queue")}
    rows = existing(dict.fromkeys(RESOURCES, 1))
    kept["foo.rabbitmq:user"] = ()
    plan = build.build_plan(manifest(resources=kept), rows, {1: install()})
    removals = [node for node in plan.nodes if node.task is NodeTask.REMOVE]
    assert [(node.path, node.kind) for node in removals if node.is_real] == [
        ("foo:web", PlanKind.RESOURCE),
        ("foo.rabbitmq:queue", PlanKind.RESOURCE),
    ]
    assert "foo:web" in prerequisite.named(plan.nodes)["foo.rabbitmq:queue"]


def test_a_chart_that_is_dropped_is_removed_with_all_in_it() -> None:
    charts = {path: each for path, each in CHARTS.items() if path != "foo.bar"}
    charts["foo"] = chart("foo", ["nginx", "orphaned", "rabbitmq"], [("rabbitmq", "foo")])
    kept = {path: those for path, those in RESOURCES.items() if path != "foo.bar:db"}
    plan = build.build_plan(manifest(charts, kept), existing(dict.fromkeys(RESOURCES, 1)), {1: install()})
    assert [node for node in plan.nodes if node.task is NodeTask.REMOVE] == [
        PlanNode(path="foo.bar:db", task=NodeTask.REMOVE),
        PlanNode(path="foo.bar", kind=PlanKind.CHART, task=NodeTask.REMOVE, batch=2, after=("foo.bar:db",)),
    ]


def test_rows_of_several_revisions_keep_the_order_of_each_and_a_chart_is_removed_once() -> None:
    rows = existing({**dict.fromkeys(RESOURCES, 2), "foo.bar:old": 1, "foo.bar:lost": 9})
    former = install(resources={**RESOURCES, "foo.bar:old": (), "foo.bar:db": ["foo.bar:old"]})
    plan = build.build_plan(None, rows, {1: former, 2: install()})
    paths = [node.path for node in plan.nodes]
    assert len(paths) == len(set(paths))
    assert paths.index("foo.bar:db") < paths.index("foo.bar:old") < paths.index("foo.bar")
    assert paths.index("foo.bar:lost") < paths.index("foo.bar")
    assert Plan.load(plan.dump()) == plan


def test_plans_that_contradict_each_other_stop_no_removal() -> None:
    names = ["a", "b"]
    parts = {"foo.a": chart("a"), "foo.b": chart("b")}
    resources: dict[str, Collection[str]] = {"foo.a:x": (), "foo.b:x": ()}
    one = install(charts={"foo": chart("foo", names, [("a", "b")]), **parts}, resources=resources)
    other = install(charts={"foo": chart("foo", names, [("b", "a")]), **parts}, resources=resources)
    plan = build.build_plan(None, existing({"foo.a:x": 1, "foo.b:x": 2}), {1: one, 2: other})
    assert {node.path for node in plan.real} == {"foo", "foo.a", "foo.b", "foo.a:x", "foo.b:x"}


def test_a_manifest_that_is_brought_about_again_keeps_its_plan() -> None:
    eager = install(Wait.EAGER)
    assert build.build_plan(manifest(), [], {}, stored=eager) == eager


def test_people_are_told_of_real_nodes_alone_and_once_for_all_in_a_chart() -> None:
    found = prerequisite.named(install().nodes)
    assert found["foo"] == found["foo.nginx"] == found["foo.bar:db"] == ()
    assert found["foo.bar"] == ("foo.nginx", "foo.rabbitmq")
    assert found["foo.orphaned"] == found["foo:web"] == ("foo.nginx", "foo.rabbitmq", "foo.bar")
    assert found["foo.rabbitmq:user"] == ("foo.rabbitmq:queue",)
    assert found.keys() == {*CHARTS, *RESOURCES}
