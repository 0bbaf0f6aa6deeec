"""The nodes of an operation as people look at them: what is in a chart belongs to it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinkwell.core.release.kinds import NodeKind, NodeTask
from tinkwell.core.release.manifest import name

if TYPE_CHECKING:
    from tinkwell.client import Node


@dataclass(frozen=True, slots=True)
class Arrangement:
    """`top` are the nodes that are in no chart of the operation, `inside` those in each; in the order of the plan."""

    top: "Sequence[Node]"
    inside: "Mapping[str, Sequence[Node]]"

    def subcharts(self, chart: str) -> "Sequence[Node]":
        """Give the subcharts of a chart, batch by batch."""
        found = (node for node in self.inside.get(chart, ()) if node.kind is NodeKind.CHART)
        return sorted(found, key=lambda node: (node.task is NodeTask.REMOVE, node.batch))

    def resources(self, chart: str) -> "Sequence[Node]":
        """Give the resources of a chart that are in none of its subcharts."""
        return [node for node in self.inside.get(chart, ()) if node.kind is NodeKind.RESOURCE]

    def flat(self) -> "Iterator[Node]":
        """Iterate over all nodes, each chart before what is in it."""
        waiting = list(reversed(self.top))
        while waiting:
            node = waiting.pop()
            yield node
            if node.kind is NodeKind.CHART:
                own, subcharts = self.resources(node.path), self.subcharts(node.path)
                parts = (*subcharts, *own) if node.task is NodeTask.INSTALL else (*own, *subcharts)
                waiting += reversed(parts)


def of(nodes: "Iterable[Node]") -> Arrangement:
    """Arrange the nodes of an operation, which are in the order of its plan."""
    nodes = list(nodes)
    inside: dict[str, list[Node]] = {node.path: [] for node in nodes if node.kind is NodeKind.CHART}
    top: list[Node] = []
    for node in nodes:
        inside.get(name.parent_chart(node.path), top).append(node)
    return Arrangement(top, inside)
