"""Arranges the nodes of an operation for people: the nodes in a chart stand below the chart."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask
from tinkwell.core.release.manifest import name

if TYPE_CHECKING:
    from tinkwell.client import Node


# The nodes that a chart's lifecycle adds to its resources and subcharts.
_OF_LIFE = (NodeKind.HOOK, NodeKind.EVENT)
_TELLING = (NodeState.INSTALLING, NodeState.REMOVING, NodeState.FAILED)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The nodes in the order of the plan: `top` are in no chart of the operation, `inside` has those of each chart."""

    top: "Sequence[Node]"
    inside: "Mapping[str, Sequence[Node]]"

    def subcharts(self, chart: str) -> "Sequence[Node]":
        """Return the subcharts of a chart, batch by batch."""
        found = (node for node in self.inside.get(chart, ()) if node.kind is NodeKind.CHART)
        return sorted(found, key=lambda node: (node.task is NodeTask.REMOVE, node.batch))

    def resources(self, chart: str) -> "Sequence[Node]":
        """Return the resources of a chart that are in none of its subcharts."""
        return [node for node in self.inside.get(chart, ()) if node.kind is NodeKind.RESOURCE]

    def first(self, chart: str) -> "Sequence[Node]":
        """Return the hooks and events of a chart that come before all other nodes in it."""
        return first(self.inside.get(chart, ()))

    def last(self, chart: str) -> "Sequence[Node]":
        """Return the hooks and events of a chart that come after all other nodes in it."""
        return last(self.inside.get(chart, ()))

    def flat(self) -> "Iterator[Node]":
        """Iterate over all nodes; each chart comes before the nodes in it."""
        waiting = list(reversed(self.top))
        while waiting:
            node = waiting.pop()
            yield node
            if node.kind is NodeKind.CHART:
                own, subcharts = self.resources(node.path), self.subcharts(node.path)
                parts = (*subcharts, *own) if node.task is NodeTask.INSTALL else (*own, *subcharts)
                waiting += reversed((*self.first(node.path), *parts, *self.last(node.path)))


def of(nodes: "Iterable[Node]") -> Arrangement:
    """Arrange the nodes of an operation, given in the order of its plan, without those that are not shown."""
    nodes = [node for node in nodes if is_shown(node)]
    inside: dict[str, list[Node]] = {node.path: [] for node in nodes if node.kind is NodeKind.CHART}
    top: list[Node] = []
    for node in nodes:
        inside.get(name.parent_chart(node.path), top).append(node)
    return Arrangement(top, inside)


def is_shown(node: "Node") -> bool:
    """Whether people are shown a node: an event only while its handlers run, and if it failed."""
    return node.kind is not NodeKind.EVENT or node.state in _TELLING


def first(nodes: "Iterable[Node]") -> "Sequence[Node]":
    """Return the hooks and events that come before all other nodes."""
    return list(itertools.takewhile(lambda node: node.kind in _OF_LIFE, nodes))


def last(nodes: "Sequence[Node]") -> "Sequence[Node]":
    """Return the hooks and events that come after the first other node."""
    return [node for node in nodes[len(first(nodes)) :] if node.kind in _OF_LIFE]
