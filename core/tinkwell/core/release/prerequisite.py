"""What the real nodes of a plan start after, told without gates and barriers: for people, who see real nodes only."""

from collections.abc import Iterable, Mapping, Sequence

from tinkwell.core.release.kinds import PlanKind
from tinkwell.core.release.plan import PlanNode

# Many may come after many, so that all of their names were too much.
MAX_NAMED = 1_000


def named(nodes: Sequence[PlanNode]) -> Mapping[str, tuple[str, ...]]:
    """Say of each real node after which others it starts, at most `MAX_NAMED`, in the order of the plan.

    What a chart starts after is not repeated for all that is in it.
    """
    places = {node.path: place for place, node in enumerate(nodes)}
    begins = {node.begin for node in nodes if node.kind is PlanKind.CHART}
    hidden = {node.path for node in nodes if not node.is_real and node.path in begins}
    found: dict[str, tuple[str, ...]] = {}
    # The real nodes that a node stands for where it is named.
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
