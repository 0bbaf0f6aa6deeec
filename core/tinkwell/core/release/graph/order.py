"""Layers and loops of a graph, computed by networkx.

Only this module imports networkx, because its import is slow; a process that only walks a stored plan never imports it.
"""

from collections.abc import Iterable, Mapping, Sequence

import networkx

_SHOWN_NAMES = 20


def generations(before: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the sorted layers of a graph without a loop: a name is in a later layer than all names before it.

    `before` maps each name to those that it comes after.
    """
    return [sorted(layer) for layer in networkx.topological_generations(_graph(before))]


def ranked(before: Mapping[str, Iterable[str]], rank: Mapping[str, int]) -> list[str]:
    """Return the names of a graph without a loop in a valid order, with the lowest possible rank at each place."""
    return list(networkx.lexicographical_topological_sort(_graph(before), key=lambda name: rank[name]))


def find_loop(before: Mapping[str, Iterable[str]]) -> list[str]:
    """Return names that each come after the next one, the last after the first; empty if there is no loop."""
    graph = _graph(before)
    if networkx.is_directed_acyclic_graph(graph):
        return []
    dependents = graph.reverse()
    # Searching the whole graph for a loop takes quadratic time.
    tangles = [
        tangle for tangle in networkx.strongly_connected_components(dependents) if _is_tangle(dependents, tangle)
    ]
    within = dependents.subgraph(min(tangles, key=min))
    loop = [path for path, _ in networkx.find_cycle(within, source=min(within))]
    start = loop.index(min(loop))
    return loop[start:] + loop[:start]


def show(loop: Sequence[str]) -> str:
    """Return a loop as text, such as `a → b → a`; a long one is cut."""
    shown = [*loop, loop[0]]
    if len(loop) > _SHOWN_NAMES:
        shown = [*loop[:_SHOWN_NAMES], f"… ({len(loop) - _SHOWN_NAMES} more)", loop[0]]
    return " → ".join(shown)


def _graph(before: Mapping[str, Iterable[str]]) -> "networkx.DiGraph[str]":
    """Return a graph with edges from each name to those that come after it."""
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    graph.add_nodes_from(before)
    graph.add_edges_from((first, name) for name, those in before.items() for first in those)
    return graph


def _is_tangle(graph: "networkx.DiGraph[str]", component: set[str]) -> bool:
    [*names] = component
    return len(names) > 1 or graph.has_edge(names[0], names[0])
