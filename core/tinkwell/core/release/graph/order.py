"""What networkx knows of the order of things: their layers, and a loop that leaves them without an order.

Only this module imports networkx, which takes a third of a second; who merely walks a stored plan never does.
"""

from collections.abc import Iterable, Mapping, Sequence

import networkx

_SHOWN_NAMES = 20


def generations(before: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the layers of a graph that has no loop, each sorted: all that a name comes after stands in earlier ones.

    `before` says of each name after which others it comes.
    """
    return [sorted(layer) for layer in networkx.topological_generations(_graph(before))]


def ranked(before: Mapping[str, Iterable[str]], rank: Mapping[str, int]) -> list[str]:
    """Return the names of a graph that has no loop in an order that keeps it, of those that may come next the least."""
    return list(networkx.lexicographical_topological_sort(_graph(before), key=lambda name: rank[name]))


def find_loop(before: Mapping[str, Iterable[str]]) -> list[str]:
    """Find names of which each comes after the next, and the last after the first; none where there is no loop."""
    graph = _graph(before)
    if networkx.is_directed_acyclic_graph(graph):
        return []
    dependents = graph.reverse()
    # To look for a loop in all of the graph would take the square of its size.
    tangles = [
        tangle for tangle in networkx.strongly_connected_components(dependents) if _is_tangle(dependents, tangle)
    ]
    within = dependents.subgraph(min(tangles, key=min))
    loop = [path for path, _ in networkx.find_cycle(within, source=min(within))]
    start = loop.index(min(loop))
    return loop[start:] + loop[:start]


def show(loop: Sequence[str]) -> str:
    """Write a loop as messages do, `a → b → a`; a long one is cut."""
    shown = [*loop, loop[0]]
    if len(loop) > _SHOWN_NAMES:
        shown = [*loop[:_SHOWN_NAMES], f"… ({len(loop) - _SHOWN_NAMES} more)", loop[0]]
    return " → ".join(shown)


def _graph(before: Mapping[str, Iterable[str]]) -> "networkx.DiGraph[str]":
    """Make a graph whose edges lead from what comes first to what comes after it."""
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    graph.add_nodes_from(before)
    graph.add_edges_from((first, name) for name, those in before.items() for first in those)
    return graph


def _is_tangle(graph: "networkx.DiGraph[str]", component: set[str]) -> bool:
    [*names] = component
    return len(names) > 1 or graph.has_edge(names[0], names[0])
