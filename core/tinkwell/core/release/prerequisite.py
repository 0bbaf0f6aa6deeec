"""The nodes that each node of a plan waits for, with gates and barriers resolved, because users see only real nodes."""

from collections.abc import Iterable, Mapping, Sequence

from tinkwell.core.release.kinds import PlanKind
from tinkwell.core.release.plan import PlanNode

# Many nodes may come after many, and all names would be too much.
MAX_NAMED = 1_000


def named(nodes: Sequence[PlanNode]) -> Mapping[str, tuple[str, ...]]:
    """Return for each real node the nodes after which it starts, at most `MAX_NAMED`, in the order of the plan.

    The prerequisites of a chart are not repeated for the nodes in it.
    """
    places = {node.path: place for place, node in enumerate(nodes)}
    begins = {node.begin for node in nodes if node.kind is PlanKind.CHART}
    hidden = {node.path for node in nodes if not node.is_real and node.path in begins}
    found: dict[str, tuple[str, ...]] = {}
    # The real nodes that replace a node where it is named.
    stands_for: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        if node.kind is PlanKind.CHART:
            names = stands_for[node.begin] if node.begin else ()
        else:
            names = _united((stands_for[path] for path in node.after if path not in hidden), places)
        if node.is_real:
            found[node.path] = names
        stands_for[node.path] = (node.path,) if node.is_real else names
    return found


def _united(parts: Iterable[tuple[str, ...]], places: Mapping[str, int]) -> tuple[str, ...]:
    given = [part for part in parts if part]
    if len(given) < 2:
        return given[0] if given else ()
    return tuple(sorted({path for part in given for path in part}, key=places.__getitem__)[:MAX_NAMED])
