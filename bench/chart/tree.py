"""Charts in few words, as archives, and graphs of what waits for what in them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx

from tinkwell.core.release.chart.file import archive

# What stands in `before` for the resources of the chart itself.
OWN = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """A chart: its resources and subcharts by their names, and for which of the latter each waits, or OWN."""

    resources: Mapping[str, Any] = field(default_factory=dict)
    children: Mapping[str, "Tree"] = field(default_factory=dict)
    before: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)

    def paths(self, path: str) -> Iterator[str]:
        """Iterate over the paths of all resources, where the chart has this path."""
        yield from (f"{path}:{name}" for name in self.resources)
        for name, child in self.children.items():
            yield from child.paths(f"{path}.{name}")


def pack(name: str, tree: Tree) -> bytes:
    """Return the archive of a chart of this name."""
    return archive.pack(name, {path: text.encode() for path, text in _files(name, tree)})


def longest(name: str, tree: Tree, seconds: Mapping[str, float]) -> float:
    """Return the seconds of the critical path of `eager`, where each resource takes so long; they are by paths."""
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    for before, after, weight in _edges(name, tree, seconds):
        graph.add_edge(before, after, weight=weight)
    found: float = networkx.dag_longest_path_length(graph)
    return found


def _files(name: str, tree: Tree) -> Iterator[tuple[str, str]]:
    entries = [{"name": child, "depends-on": [*tree.before.get(child, ())]} for child in tree.children]
    own = [*tree.before.get(OWN, ())]
    described = {
        "apiVersion": "v2",
        "name": name,
        "version": "1.0.0",
        "dependencies": entries,
        "annotations": {"helm.sh/depends-on/subcharts": json.dumps(own)} if own else {},
    }
    yield "Chart.yaml", json.dumps(described)
    yield "values.yaml", json.dumps(tree.values)
    yield "templates/all.yaml", json.dumps({"resources": tree.resources})
    for child, inner in tree.children.items():
        yield from ((f"charts/{child}/{path}", text) for path, text in _files(child, inner))


def _edges(path: str, tree: Tree, seconds: Mapping[str, float]) -> Iterator[tuple[str, str, float]]:
    """Iterate over who waits for whom, and for how long the former lasts: the beginning, turn and end of each chart."""
    begin, own, end = f"{path}<", f"{path}=", f"{path}>"
    yield begin, own, 0.0
    yield own, end, 0.0
    # Own resources wait for all that have an edge.
    sequenced = {name for pair in tree.before.items() if pair[1] for name in (pair[0], *pair[1])} - {OWN}
    for name, child in tree.children.items():
        below = f"{path}.{name}"
        yield begin, f"{below}<", 0.0
        yield f"{below}>", own if name in sequenced else end, 0.0
        yield from ((f"{path}.{other}>", f"{below}<", 0.0) for other in tree.before.get(name, ()))
        yield from _edges(below, child, seconds)
    for name in tree.resources:
        yield own, f"{path}:{name}", seconds[f"{path}:{name}"]
        yield f"{path}:{name}", end, 0.0
