"""The nodes that install a manifest: resource by resource, or chart by chart.

A chart P in batch k of its parent Q, with subcharts C and resources r, becomes:

    GATE      P/begin   after Q/begin, the siblings with an edge to P, and Q@(k-1)
              …         all nodes of its subcharts, batch by batch
    BARRIER   P@k       after the subcharts of batch k, and P@(k-1); for each batch but the last
    GATE      P/own     after P/begin, the subcharts that have an edge to P, and the last barrier
    RESOURCE  P:r       after P/own, and the resources that it depends on
    CHART     P         begins with P/begin; after all of its resources and subcharts

This is `ordered`. With `eager` no subchart comes after a barrier, and the only barrier is the one before P/own: after
all subcharts that have an edge. With `none` there are neither edges between charts nor barriers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.release.graph import order
from tinkwell.core.release.kinds import NodeTask, PlanKind, Wait
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.rendered import RenderedChart, RenderedManifest
from tinkwell.core.release.plan import PlanNode
from tinkwell.core.value import parse


def install(rendered: RenderedManifest, wait: Wait) -> list[PlanNode]:
    """Return the nodes that install a manifest, in order; raises `errors.InvalidField` that names a loop."""
    prerequisites = {path: resource.prerequisites for path, resource in rendered.installed.items()}
    if loop := order.find_loop(prerequisites):
        raise errors.InvalidField.of("resources", f"depend on each other in a loop: {order.show(loop)}")
    if not rendered.charts:
        return layered(NodeTask.INSTALL, prerequisites, first_batch=1)
    for path, chart in rendered.charts.items():
        _check_edges(path, chart)
    root = next(path for path in rendered.charts if "." not in path)
    return list(_Charts(rendered, prerequisites, wait).install(root, batch=1, after=()))


def layered(
    task: NodeTask, before: Mapping[str, Iterable[str]], *, first_batch: int, rank: Mapping[str, int] | None = None
) -> list[PlanNode]:
    """Return the nodes of a graph without a loop: layer by layer, in the order of their ranks and names."""
    return [
        PlanNode(path=path, task=task, batch=number, after=tuple(sorted(before[path])))
        for number, batch in enumerate(order.generations(before), start=first_batch)
        for path in sorted(batch, key=lambda path: ((rank or {}).get(path, 0), path))
    ]


def begin_of(chart: str) -> str:
    """Return the path of the gate at which a chart begins."""
    return f"{chart}/begin"


def own_of(chart: str) -> str:
    """Return the path of the gate at which a chart's own resources begin."""
    return f"{chart}/own"


class _Charts:
    """Makes the nodes of charts, each with the nodes in it."""

    def __init__(self, rendered: RenderedManifest, prerequisites: Mapping[str, Sequence[str]], wait: Wait) -> None:
        self._charts = rendered.charts
        self._prerequisites = prerequisites
        self._wait = wait
        # No resource depends on one of another chart, so layers are counted within each chart.
        self._resources: dict[str, list[tuple[int, str]]] = {path: [] for path in rendered.charts}
        for layer, paths in enumerate(order.generations(prerequisites), start=1):
            for path in paths:
                self._resources[name.split_chart(path)[0]].append((layer, path))

    def install(self, path: str, *, batch: int, after: Sequence[str]) -> Iterator[PlanNode]:
        """Yield the nodes of a chart and of all charts in it."""
        chart = self._charts[path]
        own_name, begin, own = path.rpartition(".")[2], begin_of(path), own_of(path)
        before = _before(chart) if self._wait is not Wait.NONE else {}
        yield PlanNode(path=begin, kind=PlanKind.GATE, batch=batch, after=tuple(after))
        ended: list[str] = []
        barriers: list[str] = []
        children: list[str] = []
        for number, names in enumerate(chart.batches, start=1):
            for child in (each for each in names if each != own_name):
                edges = (f"{path}.{other}" for other in before.get(child, ()))
                held = barriers[-1:] if self._wait is Wait.ORDERED else ()
                yield from self.install(f"{path}.{child}", batch=number, after=(begin, *edges, *held))
                children.append(f"{path}.{child}")
                ended.append(f"{path}.{child}")
            if self._is_barred(chart, number):
                yield PlanNode(
                    path=f"{path}@{number}", kind=PlanKind.BARRIER, batch=number, after=(*barriers[-1:], *ended)
                )
                barriers.append(f"{path}@{number}")
                ended = []
        edges = (f"{path}.{other}" for other in before.get(own_name, ()))
        yield PlanNode(path=own, kind=PlanKind.GATE, batch=len(chart.batches), after=(begin, *edges, *barriers[-1:]))
        for layer, resource in self._resources[path]:
            yield PlanNode(path=resource, batch=layer, after=(own, *self._prerequisites[resource]))
        inside = (*children, *(resource for _, resource in self._resources[path]))
        yield PlanNode(path=path, kind=PlanKind.CHART, batch=batch, begin=begin, after=(begin, *inside))

    def _is_barred(self, chart: RenderedChart, number: int) -> bool:
        """Return whether a barrier follows a batch: each but the last or, with `eager`, only one."""
        last = len(chart.batches) - 1
        match self._wait:
            case Wait.ORDERED:
                return number <= last
            case Wait.EAGER:
                return number == last
            case Wait.NONE:
                return False


def _before(chart: RenderedChart) -> dict[str, list[str]]:
    """Return for each name in a chart the sorted subcharts that have an edge to it."""
    found: dict[str, list[str]] = {}
    for before, after in sorted(chart.edges):
        found.setdefault(after, []).append(before)
    return found


def _check_edges(path: str, chart: RenderedChart) -> None:
    """Refuse edges that contradict the batches, because no order would satisfy both."""
    place = {each: number for number, batch in enumerate(chart.batches) for each in batch}
    for before, after in chart.edges:
        if place[before] >= place[after]:
            why = f"has {before} → {after}, but the batch of {after} does not come after that of {before}"
            raise errors.InvalidField.of(f"{parse.child('charts', path)}.edges", why)
