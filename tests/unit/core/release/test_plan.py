"""A plan is read as it was written, and one that could not be walked is refused with the place of its fault."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.release import plan as plans
from tinkwell.core.release.kinds import NodeTask
from tinkwell.core.release.plan import Plan, PlanNode


def node(path: str, **more: Any) -> dict[str, Any]:
    return {"path": path, "kind": "RESOURCE", "task": "INSTALL", "batch": 1, "after": [], **more}


def text(*nodes: Any, **more: Any) -> str:
    return json.dumps({"format": 1, "nodes": list(nodes), **more})


def fault(given_text: str) -> list[tuple[str, str]]:
    with pytest.raises(errors.InvalidField) as refused:
        plans.parse_plan("plan", given_text)
    return [(violation.field, violation.description) for violation in refused.value.violations]


@given(st.lists(st.sampled_from([*NodeTask]), max_size=6))
def test_what_is_dumped_is_read_back(tasks: list[NodeTask]) -> None:
    nodes = [
        PlanNode(path=f"n[{i}]", task=task, batch=i + 1, after=tuple(f"n[{j}]" for j in range(i)))
        for i, task in enumerate(tasks)
    ]
    assert plans.parse_plan("plan", Plan(nodes).dump()) == Plan(nodes)


def test_an_installation_is_the_plan_without_removals() -> None:
    removed = PlanNode(path="old", task=NodeTask.REMOVE, after=("db",))
    whole = Plan([PlanNode(path="role"), PlanNode(path="db", after=("role", "old")), removed])
    assert whole.installation == Plan([PlanNode(path="role"), PlanNode(path="db", after=("role",))])


@pytest.mark.parametrize(
    ("given_text", "field", "said"),
    [
        ("", "plan", "is empty"),
        ("[]", "plan", "must be a JSON object"),
        (text(format=2), "plan", "must be"),
        (text(more=1), "plan", "must be"),
        ('{"format": 1, "nodes": {}}', "plan.nodes", "must be a list"),
        (text(*[node(str(i)) for i in range(5_001)]), "plan.nodes", "at most 5,000"),
        (text("a"), "plan.nodes[0]", "must be an object of path, kind"),
        (text({**node("a"), "more": 1}), "plan.nodes[0]", "must be an object of path, kind"),
        (text(node("")), "plan.nodes[0].path", "must not be empty"),
        (text(node(7)), "plan.nodes[0].path", "must be a string and not a number"),  # type: ignore[arg-type] # that is it
        (text(node("a\n")), "plan.nodes[0].path", "control character"),
        (text(node("a" * 501)), "plan.nodes[0].path", "at most 500"),
        (text(node("a", kind="CHART")), "plan.nodes[0].kind", "one of RESOURCE"),
        (text(node("a", task="install")), "plan.nodes[0].task", "one of INSTALL, REMOVE"),
        (text(node("a", task=[])), "plan.nodes[0].task", "one of INSTALL, REMOVE"),
        (text(node("a", batch=0)), "plan.nodes[0].batch", "from 1"),
        (text(node("a", after="b")), "plan.nodes[0].after", "list of paths"),
        (text(node("a", after=[1])), "plan.nodes[0].after", "list of paths"),
        (text(node("a"), node("a")), "plan.nodes", "two nodes of one path"),
        (text(node("a", after=["b"])), "plan.nodes[0].after", '"b" is no path'),
        (text(node("a", after=["a"])), "plan.nodes", "a → a"),
        (text(node("b", after=["c"]), node("c", after=["b"])), "plan.nodes", " → "),
        (text(node("a"), *[node(str(i), after=["a"] * 101) for i in range(200)]), "plan.nodes", "20,000"),
    ],
)
def test_a_plan_that_is_none_is_refused(given_text: str, field: str, said: str) -> None:
    [(where, what), *_] = fault(given_text)
    assert where == field
    assert said in what
