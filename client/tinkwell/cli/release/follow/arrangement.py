"""The nodes of an operation as people look at them: what is in a chart belongs to it."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask
from tinkwell.core.release.manifest import name

if TYPE_CHECKING:
    from tinkwell.client import Node


# What the life of a chart adds to it.
_OF_LIFE = (NodeKind.HOOK, NodeKind.EVENT)
_TELLING = (NodeState.INSTALLING, NodeState.REMOVING, NodeState.FAILED)


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

    def first(self, chart: str) -> "Sequence[Node]":
        """Give the hooks and events of a chart that come before all that is in it."""
        return first(self.inside.get(chart, ()))

    def last(self, chart: str) -> "Sequence[Node]":
        """Give the hooks and events of a chart that come after all that is in it."""
        return last(self.inside.get(chart, ()))

    def flat(self) -> "Iterator[Node]":
        """Iterate over all nodes, each chart before what is in it."""
        waiting = list(reversed(self.top))
        while waiting:
            node = waiting.pop()
            yield node
            if node.kind is NodeKind.CHART:
                own, subcharts = self.resources(node.path), self.subcharts(node.path)
                parts = (*subcharts, *own) if node.task is NodeTask.INSTALL else (*own, *subcharts)
                waiting += reversed((*self.first(node.path), *parts, *self.last(node.path)))


def of(nodes: "Iterable[Node]") -> Arrangement:
    """Arrange the nodes of an operation, which are in the order of its plan; events that tell nothing are left out."""
    nodes = [node for node in nodes if is_shown(node)]
    inside: dict[str, list[Node]] = {node.path: [] for node in nodes if node.kind is NodeKind.CHART}
    top: list[Node] = []
    for node in nodes:
        inside.get(name.parent_chart(node.path), top).append(node)
    return Arrangement(top, inside)


def is_shown(node: "Node") -> bool:
    """Whether a node tells people anything: an event only while it is heard, and where that has failed."""
    return node.kind is not NodeKind.EVENT or node.state in _TELLING


def first(nodes: "Iterable[Node]") -> "Sequence[Node]":
    """Give the hooks and events that stand before all else."""
    return list(itertools.takewhile(lambda node: node.kind in _OF_LIFE, nodes))


def last(nodes: "Sequence[Node]") -> "Sequence[Node]":
    """Give the hooks and events that do not stand before all else."""
    return [node for node in nodes[len(first(nodes)) :] if node.kind in _OF_LIFE]
