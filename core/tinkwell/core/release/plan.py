"""What an operation is going to do: its nodes in order, and which must be done before which.

A plan is made once, stored before the first effect, and never computed again. Its JSON form:

    {"format": 1, "nodes": [{"path": "db", "kind": "RESOURCE", "task": "INSTALL", "batch": 1, "after": ["role"]}, …]}

A path occurs once. Nodes stand in the order in which ready ones start, and `after` names nodes by their paths.
"""

import graphlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from tinkwell.core import errors
from tinkwell.core.release.kinds import NodeKind, NodeTask
from tinkwell.core.value import document, parse

FORMAT = 1
MAX_NODES = 5_000
MAX_EDGES = 20_000
MAX_PATH_BYTES = 500
MAX_DOCUMENT_BYTES = 8 * 1024 * 1024

_FIELDS = ("path", "kind", "task", "batch", "after")
K = TypeVar("K", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """One node. It starts when those in `after` are done; `batch` is the layer that it stands in, from 1."""

    path: str
    kind: NodeKind = NodeKind.RESOURCE
    task: NodeTask = NodeTask.INSTALL
    batch: int = 1
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The nodes of an operation in the order in which ready ones start."""

    nodes: Sequence[PlanNode]

    @property
    def installation(self) -> "Plan":
        """The plan without what it removes, as a revision keeps it."""
        kept = {node.path for node in self.nodes if node.task is NodeTask.INSTALL}
        nodes = [node for node in self.nodes if node.path in kept]
        return Plan([replace(node, after=tuple(path for path in node.after if path in kept)) for node in nodes])

    def dump(self) -> str:
        """Write the plan as JSON text."""
        nodes = [
            {"path": n.path, "kind": n.kind, "task": n.task, "batch": n.batch, "after": list(n.after)}
            for n in self.nodes
        ]
        return json.dumps({"format": FORMAT, "nodes": nodes}, ensure_ascii=False)


def parse_plan(field: str, text: str) -> Plan:
    """Read a plan from JSON text; raises `errors.InvalidField`, also for one that could never be walked to its end."""
    parsed = document.parse_json_object(field, text, max_bytes=MAX_DOCUMENT_BYTES)
    if parsed.get("format") != FORMAT or parsed.keys() != {"format", "nodes"}:
        raise errors.InvalidField.of(field, f'must be {{"format": {FORMAT}, "nodes": […]}}')
    listed = parsed["nodes"]
    if not isinstance(listed, list) or len(listed) > MAX_NODES:
        raise errors.InvalidField.of(f"{field}.nodes", f"must be a list of at most {MAX_NODES:,} nodes")
    plan = Plan([_parse_node(parse.child(f"{field}.nodes", index), found) for index, found in enumerate(listed)])
    violations = [*_find_faults(field, plan)]
    if violations:
        raise errors.InvalidField(violations[: document.MAX_VIOLATIONS])
    return plan


def _parse_node(field: str, found: object) -> PlanNode:
    if not isinstance(found, Mapping) or found.keys() != set(_FIELDS):
        raise errors.InvalidField.of(field, f"must be an object of {', '.join(_FIELDS)}")
    path, batch, after = found["path"], found["batch"], found["after"]
    if not isinstance(after, list) or not all(isinstance(each, str) for each in after):
        raise errors.InvalidField.of(f"{field}.after", "must be a list of paths")
    if not isinstance(path, str):
        raise errors.InvalidField.of(f"{field}.path", f"must be a string and not {document.describe(path)}")
    return PlanNode(
        path=parse.parse_text(f"{field}.path", path, max_bytes=MAX_PATH_BYTES),
        kind=_member(NodeKind, f"{field}.kind", found["kind"]),
        task=_member(NodeTask, f"{field}.task", found["task"]),
        batch=parse.parse_int_range(f"{field}.batch", batch, low=1, high=MAX_NODES),
        after=tuple(after),
    )


def _member(kind: type[K], field: str, found: object) -> K:
    if not isinstance(found, str) or found not in list(kind):
        raise errors.InvalidField.of(field, f"must be one of {', '.join(kind)}")
    return kind(found)


def _find_faults(field: str, plan: Plan) -> Iterator[errors.Violation]:
    paths = {node.path for node in plan.nodes}
    if len(paths) < len(plan.nodes):
        yield errors.Violation(f"{field}.nodes", "has two nodes of one path")
        return
    if sum(len(node.after) for node in plan.nodes) > MAX_EDGES:
        yield errors.Violation(f"{field}.nodes", f"wait for each other in more than {MAX_EDGES:,} places")
        return
    for index, node in enumerate(plan.nodes):
        for path in set(node.after) - paths:
            yield errors.Violation(f"{field}.nodes[{index}].after", f"{parse.show(path)} is no path of this plan")
    try:
        graphlib.TopologicalSorter({node.path: node.after for node in plan.nodes}).prepare()
    except graphlib.CycleError as error:
        yield errors.Violation(f"{field}.nodes", f"wait for each other: {' → '.join(error.args[1])}")
