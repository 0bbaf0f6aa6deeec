"""What an operation is going to do: its nodes in order, and which must be done before which.

A plan is made once, stored before the first effect, and never computed again. Its JSON form:

    {"format": 1, "nodes": [{"path": "db", "kind": "RESOURCE", "task": "INSTALL", "batch": 1, "after": ["role"]}, …]}

A path occurs once. Nodes stand in the order in which ready ones start, and `after` names nodes by their paths.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tinkwell.core.release.kinds import NodeKind, NodeTask

FORMAT = 1


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

    def dump(self) -> str:
        """Write the plan as JSON text."""
        nodes = [
            {"path": n.path, "kind": n.kind, "task": n.task, "batch": n.batch, "after": list(n.after)}
            for n in self.nodes
        ]
        return json.dumps({"format": FORMAT, "nodes": nodes}, ensure_ascii=False)
