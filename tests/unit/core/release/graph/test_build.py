"""Plans: installations in the order of dependencies, removals in the reverse of the order of their revisions."""

import datetime
import itertools
from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.release.graph import build
from tinkwell.core.release.kinds import NodeTask, ResourceStatus
from tinkwell.core.release.manifest.rendered import RenderedManifest, RenderedResource
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.record import Resource

NOW = datetime.datetime(2026, 11, 26, tzinfo=datetime.UTC)


def rendered(edges: Mapping[str, Collection[str]]) -> RenderedManifest:
    """Make a manifest in which each resource depends on some others."""
    return RenderedManifest(
        resources={
            path: RenderedResource(type="x", dependencies={f"a{n}": other for n, other in enumerate(sorted(others))})
            for path, others in edges.items()
        }
    )


def existing(revisions: Mapping[str, int], status: ResourceStatus = ResourceStatus.VALID) -> list[Resource]:
    more = {"release_id": "r", "type": "x", "image_id": "", "init": "", "config": "", "state": ""}
    return [
        Resource(path=path, revision=revision, status=status, owned=True, observed_at=NOW, **more)
        for path, revision in revisions.items()
    ]


def install(edges: Mapping[str, Collection[str]]) -> Plan:
    return build.build_plan(rendered(edges), [], {})


def batches(plan: Plan) -> list[list[str]]:
    found: dict[int, list[str]] = {}
    for node in plan.nodes:
        found.setdefault(node.batch, []).append(node.path if node.task is NodeTask.INSTALL else f"-{node.path}")
    return list(found.values())


def test_batches_are_layers_and_names_within_them_are_sorted() -> None:
    plan = install(
        {"www_vm": {"my_data_disk", "net"}, "net": set(), "my_data_disk": set(), "z": {"www_vm"}, "b": {"net"}}
    )
    assert batches(plan) == [["my_data_disk", "net"], ["b", "www_vm"], ["z"]]
    assert plan.nodes[3] == PlanNode(path="www_vm", batch=2, after=("my_data_disk", "net"))
    assert install({}) == Plan(())


def test_a_dependency_on_all_that_for_each_made_is_one_on_each() -> None:
    resources = {
        "d[a]": RenderedResource(type="x"),
        "d[b]": RenderedResource(type="x"),
        "w": RenderedResource(type="x", dependencies={"all": ("d[a]", "d[b]"), "one": "d[a]"}),
    }
    plan = build.build_plan(RenderedManifest(resources=resources), [], {})
    assert plan.nodes[-1] == PlanNode(path="w", batch=2, after=("d[a]", "d[b]"))


@pytest.mark.parametrize(
    ("edges", "loop"),
    [
        ({"a": {"a"}}, "a → a"),
        ({"b": {"a"}, "a": {"b"}}, "a → b → a"),
        ({"x": {"b"}, "b": {"c"}, "c": {"a"}, "a": {"b"}, "y": set()}, "a → b → c → a"),
        ({"q": {"q"}, "b": {"a"}, "a": {"b"}}, "a → b → a"),
    ],
)
def test_a_loop_is_refused_by_naming_one_that_is_there(edges: Mapping[str, set[str]], loop: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        install(edges)
    assert str(caught.value) == f"resources: depend on each other in a loop: {loop}"


def test_a_long_loop_is_shortened_and_found_in_no_time() -> None:
    edges = {f"r{n:04}": {f"r{(n + 1) % 3_000:04}"} for n in range(3_000)}
    with pytest.raises(errors.InvalidField, match=r"r0000 → r0001 .* → r0019 → … \(2980 more\) → r0000$"):
        install(edges)


def test_what_the_manifest_does_not_have_is_removed_after_all_installations_in_reverse() -> None:
    former = install({"a": set(), "b": {"a"}, "c": {"b"}, "d": {"a"}, "e": {"d", "c"}})
    rows = existing(dict.fromkeys("abcde", 1))
    plan = build.build_plan(rendered({"a": set(), "new": {"a"}, "other": set()}), rows, {1: former})
    assert batches(plan) == [["a", "other"], ["new"], ["-e"], ["-c", "-d"], ["-b"]]
    after = {node.path: node.after for node in plan.nodes}
    assert after == {
        "a": (),
        "other": (),
        "new": ("a",),
        "e": (),
        "c": ("e",),
        "d": ("e",),
        "b": ("c",),
    }


def test_an_uninstallation_is_the_reverse_of_the_installation() -> None:
    former = install({"a": set(), "b": {"a"}, "c": {"b"}})
    plan = build.build_plan(None, existing(dict.fromkeys("abc", 7)), {7: former})
    assert batches(plan) == [["-c"], ["-b"], ["-a"]]
    assert build.build_plan(None, [], {}) == Plan(())


def test_what_was_left_in_place_is_not_removed_again() -> None:
    rows = existing({"left": 1}, ResourceStatus.LEFT) + existing({"absent": 1}, ResourceStatus.ABSENT)
    assert batches(build.build_plan(None, rows, {})) == [["-absent"]]


def test_removals_depend_on_each_other_by_way_of_what_stays() -> None:
    former = install({"a": set(), "stays": {"a"}, "c": {"stays"}})
    plan = build.build_plan(rendered({"stays": set()}), existing({"a": 1, "stays": 2, "c": 1}), {1: former})
    assert batches(plan) == [["stays"], ["-c"], ["-a"]]


def test_each_row_follows_the_plan_of_its_own_revision_and_newer_ones_come_first() -> None:
    plans = {1: install({"a": set(), "b": {"a"}, "x": set()}), 2: install({"a": {"y"}, "y": set(), "z": set()})}
    rows = existing({"b": 1, "x": 1, "a": 2, "y": 2, "z": 2})
    plan = build.build_plan(None, rows, plans)
    # b depended on a by revision 1, and a on y by revision 2.
    assert batches(plan) == [["-z", "-b", "-x"], ["-a"], ["-y"]]


def test_plans_that_contradict_each_other_and_plans_that_are_gone_stop_no_removal() -> None:
    plans = {1: install({"a": set(), "b": {"a"}, "c": {"b"}}), 2: install({"a": {"b"}, "b": set()})}
    plan = build.build_plan(None, existing({"a": 2, "b": 1, "c": 1, "old": 9}), plans)
    assert batches(plan) == [["-old", "-a", "-c"], ["-b"]]


EDGES = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40)


def acyclic(pairs: Sequence[tuple[int, int]], nodes: Collection[int]) -> dict[str, set[str]]:
    edges: dict[str, set[str]] = {f"r{n:02}": set() for n in nodes}
    for one, other in pairs:
        if one != other and {one, other} <= set(nodes):
            edges[f"r{max(one, other):02}"].add(f"r{min(one, other):02}")
    return edges


@given(EDGES, EDGES, st.sets(st.integers(0, 14)), st.sets(st.integers(0, 14)))
def test_every_edge_is_kept_and_its_reverse_for_removals(
    new: list[tuple[int, int]], old: list[tuple[int, int]], new_nodes: set[int], old_nodes: set[int]
) -> None:
    before, wanted = acyclic(old, old_nodes), acyclic(new, new_nodes)
    former = install(before)
    plan = build.build_plan(rendered(wanted), existing(dict.fromkeys(before, 1)), {1: former})
    place = {node.path: index for index, node in enumerate(plan.nodes)}
    tasks = {node.path: node.task for node in plan.nodes}
    assert {path for path, task in tasks.items() if task is NodeTask.INSTALL} == set(wanted)
    assert {path for path, task in tasks.items() if task is NodeTask.REMOVE} == set(before) - set(wanted)
    reach = reachable(plan)
    for path, prerequisites in wanted.items():
        assert prerequisites <= reach[path]
    for path, prerequisites in closure(before).items():
        for prerequisite in prerequisites - set(wanted):
            if path not in wanted:
                assert path in reach[prerequisite]
    installed = [node.batch for node in plan.nodes if node.task is NodeTask.INSTALL]
    assert all(node.batch > max(installed, default=0) for node in plan.nodes if node.task is NodeTask.REMOVE)
    for node in plan.nodes:
        assert all(place[other] < place[node.path] for other in node.after)
        assert all(plan.nodes[place[other]].batch < node.batch for other in node.after)
    assert Plan.load(plan.dump()) == plan


@given(EDGES)
def test_a_loop_that_is_named_is_one_of_the_graph(pairs: list[tuple[int, int]]) -> None:
    edges: dict[str, set[str]] = {f"r{n:02}": set() for n in range(15)}
    for one, other in pairs:
        edges[f"r{one:02}"].add(f"r{other:02}")
    try:
        plan = install(edges)
    except errors.InvalidField as error:
        loop = str(error).rsplit(": ", 1)[1].split(" → ")
        assert loop[0] == loop[-1] == min(loop)
        assert all(other in edges[path] for path, other in itertools.pairwise(loop))
    else:
        assert not any(path in reach for path, reach in reachable(plan).items())


def reachable(plan: Plan) -> dict[str, set[str]]:
    """Say of each node which others are done when it starts."""
    return closure({node.path: set(node.after) for node in plan.nodes})


def closure(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    found = {path: set(those) for path, those in edges.items()}
    for _ in found:
        for those in found.values():
            those |= {far for near in list(those) for far in found[near]}
    return found
