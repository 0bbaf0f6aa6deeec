"""The plan of an operation: its nodes in order, and which nodes must be done before which.

A plan is made once, stored before the first effect, and never computed again. Its JSON form:

    {"format": 1, "nodes": [{"path": "db", "kind": "RESOURCE", "task": "INSTALL", "batch": 1, "after": ["role"]}, …]}

A path occurs once. Nodes are in the order in which ready ones start, and `after` has the paths of earlier nodes.
Removals come after all installations, whether `after` says so or not.

The node of a chart comes after all nodes in the chart. Its "begin" names the node, mostly a gate, with which the chart
begins; all nodes in the chart come after that one.

    {"path": "shop/begin", "kind": "GATE", "task": "INSTALL", "batch": 1, "after": []}
    {"path": "shop", "kind": "CHART", "task": "INSTALL", "batch": 1, "after": ["shop/begin", "shop:db"],
     "begin": "shop/begin"}

Gates and barriers exist only in plans; they keep the lists short when many nodes wait for many.

Events of charts and their hooks (for their paths see `lifecycle_event.path`) are before or after the other nodes of
their chart; see `graph.life`. A revision keeps its plan without them, because each operation has its own.
"""

import functools
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tinkwell.core.release.kinds import NodeTask, PlanKind
from tinkwell.core.value import check, closed_object, document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

FORMAT = 1
MAX_BYTES = 16 * 1024 * 1024
MAX_NODES = 50_000
MAX_PATH_BYTES = 1_000

_parse_path = functools.partial(parse.parse_text, max_bytes=MAX_PATH_BYTES)

_NEEDED_FIELDS = ("path", "kind", "task", "batch", "after")
_NODE_FIELDS = (*_NEEDED_FIELDS, "begin")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """One node. It starts when those in `after` are done; a chart starts with `begin`.

    `batch` counts from 1: for a chart it is its batch in its parent, for a resource its layer among those of its chart
    or, without charts, among all. Events and hooks have batch 0.
    """

    path: str
    kind: PlanKind = PlanKind.RESOURCE
    task: NodeTask = NodeTask.INSTALL
    batch: int = 1
    after: tuple[str, ...] = ()
    begin: str = ""

    @property
    def is_real(self) -> bool:
        """Whether it is a node of the operation, with a state."""
        return self.kind not in (PlanKind.GATE, PlanKind.BARRIER)


@dataclass(frozen=True)
class Plan:
    """The nodes of an operation in the order in which ready ones start. Selections are cached."""

    nodes: Sequence[PlanNode]

    @functools.cached_property
    def real(self) -> Sequence[PlanNode]:
        """The nodes that have a state: all but gates and barriers."""
        return tuple(node for node in self.nodes if node.is_real)

    @functools.cached_property
    def resources(self) -> Sequence[PlanNode]:
        """The resources that are installed or removed."""
        return tuple(node for node in self.nodes if node.kind is PlanKind.RESOURCE)

    @functools.cached_property
    def called(self) -> Sequence[PlanNode]:
        """The nodes whose images are called: resources and hooks."""
        return tuple(node for node in self.nodes if node.kind in (PlanKind.RESOURCE, PlanKind.HOOK))

    @functools.cached_property
    def hooks(self) -> Sequence[PlanNode]:
        """The hooks, each at an event."""
        return tuple(node for node in self.nodes if node.kind is PlanKind.HOOK)

    @functools.cached_property
    def events(self) -> Sequence[PlanNode]:
        """The events of charts."""
        return tuple(node for node in self.nodes if node.kind is PlanKind.EVENT)

    @functools.cached_property
    def charts(self) -> Sequence[PlanNode]:
        """The charts that are installed or removed."""
        return tuple(node for node in self.nodes if node.kind is PlanKind.CHART)

    @functools.cached_property
    def installs(self) -> Sequence[PlanNode]:
        """The real nodes of the installation."""
        return tuple(node for node in self.real if node.task is NodeTask.INSTALL)

    @property
    def installation(self) -> "Plan":
        """The plan without removals, events and hooks, as a revision keeps it."""
        installed = [node for node in self.nodes if node.task is NodeTask.INSTALL]
        # A node after an event or a hook comes after the nodes before that event or hook.
        stands_for: dict[str, tuple[str, ...]] = {}
        found: list[PlanNode] = []
        for node in installed:
            after = tuple(dict.fromkeys(each for path in node.after for each in stands_for.get(path, ())))
            is_passing = node.kind in (PlanKind.EVENT, PlanKind.HOOK)
            stands_for[node.path] = after if is_passing else (node.path,)
            if not is_passing:
                found.append(replace(node, after=after))
        return Plan(tuple(found))

    def dump(self) -> str:
        """Write the plan as JSON text."""
        return json.dumps({"format": FORMAT, "nodes": [_write_node(node) for node in self.nodes]}, ensure_ascii=False)

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


def _write_node(node: PlanNode) -> JsonObject:
    written: JsonObject = {
        "path": node.path,
        "kind": node.kind,
        "task": node.task,
        "batch": node.batch,
        "after": list(node.after),
    }
    return {**written, "begin": node.begin} if node.begin else written


def _read_node(checks: check.Checks, path: str, given: JsonValue, before: Collection[str]) -> PlanNode:
    members = closed_object.ClosedObject(checks, path, given, _NODE_FIELDS)
    for name in _NEEDED_FIELDS:
        members.demand(name)
    node = PlanNode(
        path=members.text("path", _parse_path),
        kind=members.choice("kind", PlanKind, default=PlanKind.RESOURCE),
        task=members.choice("task", NodeTask, default=NodeTask.INSTALL),
        batch=members.integer("batch", low=1, high=MAX_NODES) or 1,
        after=members.texts("after", _parse_path, most=MAX_NODES),
        begin=members.text("begin", _parse_path),
    )
    for member, others in (("after", node.after), ("begin", (node.begin,) if node.begin else ())):
        for other in others:
            if other not in before and not checks.is_full:
                checks.refuse(members.path(member), f"{parse.show(other)} is not a node before this one")
    if node.begin and node.kind is not PlanKind.CHART:
        checks.refuse(members.path("begin"), "is of charts alone")
    return node
