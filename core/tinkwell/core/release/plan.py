"""What an operation is going to do: its nodes in order, and which must be done before which.

A plan is made once, stored before the first effect, and never computed again. Its JSON form:

    {"format": 1, "nodes": [{"path": "db", "kind": "RESOURCE", "task": "INSTALL", "batch": 1, "after": ["role"]}, …]}

A path occurs once. Nodes stand in the order in which ready ones start, and `after` names nodes by their paths, all of
which stand before. What is removed comes after all that is installed, whether `after` says so or not.
"""

import functools
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tinkwell.core.release.kinds import NodeKind, NodeTask
from tinkwell.core.value import check, closed_object, document, parse
from tinkwell.core.value.document import JsonValue

FORMAT = 1
MAX_BYTES = 16 * 1024 * 1024
MAX_NODES = 20_000
MAX_PATH_BYTES = 1_000

_parse_path = functools.partial(parse.parse_text, max_bytes=MAX_PATH_BYTES)

_NODE_FIELDS = ("path", "kind", "task", "batch", "after")


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
        nodes = (node for node in self.nodes if node.path in kept)
        return Plan(tuple(replace(node, after=tuple(path for path in node.after if path in kept)) for node in nodes))

    def dump(self) -> str:
        """Write the plan as JSON text."""
        nodes = [
            {"path": n.path, "kind": n.kind, "task": n.task, "batch": n.batch, "after": list(n.after)}
            for n in self.nodes
        ]
        return json.dumps({"format": FORMAT, "nodes": nodes}, ensure_ascii=False)

    @classmethod
    def load(cls, text: str, *, field: str = "plan") -> "Plan":
        """Read a plan; raises `errors.InvalidField` for anything that `dump` does not write."""
        checks = check.Checks(most=document.MAX_VIOLATIONS)
        found = document.parse_json(field, text, max_bytes=MAX_BYTES)
        members = closed_object.ClosedObject(checks, field, found, ("format", "nodes"))
        for member in ("format", "nodes"):
            members.demand(member)
        members.integer("format", low=FORMAT, high=FORMAT)
        nodes: dict[str, PlanNode] = {}
        for path, given in members.items("nodes", most=MAX_NODES):
            node = _read_node(checks, path, given, nodes)
            if node.path in nodes:
                checks.refuse(f"{path}.path", f"{parse.show(node.path)} is the path of another node, too")
            nodes[node.path] = node
        checks.finish()
        return cls(tuple(nodes.values()))


def _read_node(checks: check.Checks, path: str, given: JsonValue, before: Collection[str]) -> PlanNode:
    members = closed_object.ClosedObject(checks, path, given, _NODE_FIELDS)
    for name in _NODE_FIELDS:
        members.demand(name)
    after = members.texts("after", _parse_path, most=MAX_NODES)
    for other in after:
        if other not in before and not checks.is_full:
            checks.refuse(members.path("after"), f"{parse.show(other)} is no node that stands before this one")
    return PlanNode(
        path=members.text("path", _parse_path),
        kind=members.choice("kind", NodeKind, default=NodeKind.RESOURCE),
        task=members.choice("task", NodeTask, default=NodeTask.INSTALL),
        batch=members.integer("batch", low=1, high=MAX_NODES) or 1,
        after=after,
    )
