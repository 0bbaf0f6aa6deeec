"""The stored form of plans."""

import json
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.release.kinds import NodeTask, PlanKind
from tinkwell.core.release.plan import Plan, PlanNode

NODE: dict[str, Any] = {"path": "a", "kind": "RESOURCE", "task": "INSTALL", "batch": 1, "after": []}


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = Plan((PlanNode(path="role"), PlanNode(path="db[ä]", task=NodeTask.REMOVE, batch=2, after=("role",))))
    assert Plan.load(plan.dump()) == plan
    assert Plan.load(Plan(()).dump()) == Plan(())


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "plan: must be an object with format, nodes, and not a list"),
        ({"nodes": []}, "plan.format: must be given"),
        ({"format": 2, "nodes": []}, "plan.format: is 2; it must be from 1 to 1"),
        ({"format": 1}, "plan.nodes: must be given"),
        ({"format": 1, "nodes": {}}, "plan.nodes: must be a list, and not an object"),
        ({"format": 1, "nodes": [], "more": 1}, "plan.more: there is no such field"),
        ({"format": 1, "nodes": [1]}, "plan.nodes[0]: must be an object with path, kind, task, batch, after"),
        ({"format": 1, "nodes": [{}]}, "plan.nodes[0].path: must be given"),
        ({"format": 1, "nodes": [NODE, NODE]}, 'plan.nodes[1].path: "a" is the path of another node, too'),
        ({"format": 1, "nodes": [{**NODE, "path": ""}]}, "plan.nodes[0].path: must not be empty"),
        (
            {"format": 1, "nodes": [{**NODE, "kind": "POD"}]},
            "plan.nodes[0].kind: must be one of RESOURCE, CHART, HOOK, EVENT",
        ),
        ({"format": 1, "nodes": [{**NODE, "begin": "b"}]}, 'plan.nodes[0].begin: "b" is not a node before'),
        (
            {"format": 1, "nodes": [NODE, {**NODE, "path": "b", "begin": "a"}]},
            "plan.nodes[1].begin: is of charts alone",
        ),
        ({"format": 1, "nodes": [{**NODE, "task": None}]}, "plan.nodes[0].task: must be one of INSTALL, REMOVE"),
        ({"format": 1, "nodes": [{**NODE, "batch": 0}]}, "plan.nodes[0].batch: is 0"),
        ({"format": 1, "nodes": [{**NODE, "after": ["a"]}]}, 'plan.nodes[0].after: "a" is not a node before'),
        (
            {"format": 1, "nodes": [{**NODE, "after": ["b"]}, {**NODE, "path": "b"}]},
            'plan.nodes[0].after: "b" is not a node before this one',
        ),
    ],
)
def test_what_is_no_plan_is_refused(document: Any, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        Plan.load(json.dumps(document))
    assert sentence in str(caught.value)


def test_a_plan_of_charts_is_read_as_it_was_written() -> None:
    plan = Plan(
        (
            PlanNode(path="shop/begin", kind=PlanKind.GATE),
            PlanNode(path="shop@1", kind=PlanKind.BARRIER, after=("shop/begin",)),
            PlanNode(path="shop:db", after=("shop/begin", "shop@1")),
            PlanNode(path="shop", kind=PlanKind.CHART, after=("shop/begin", "shop:db"), begin="shop/begin"),
        )
    )
    assert Plan.load(plan.dump()) == plan
    assert [node.path for node in plan.real] == ["shop:db", "shop"]
    assert [node.path for node in plan.resources] == ["shop:db"]


def test_a_plan_without_charts_is_written_as_before_there_were_any() -> None:
    [node] = json.loads(Plan((PlanNode(path="a"),)).dump())["nodes"]
    assert node == NODE


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(errors.InvalidField, match=r"^revision.plan: .* \(not JSON\)"):
        Plan.load("{", field="revision.plan")
