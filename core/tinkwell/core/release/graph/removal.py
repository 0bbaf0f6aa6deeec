"""The nodes that remove resources, in the reverse of the order in which their revisions installed them.

If no revision had a chart, `reverse` computes the order of the resources. Otherwise `mirror` reverses the plan of each
revision, with its gates and barriers:

    installation                                      removal
    CHART    P, after all that is in it               GATE   P~N, before all that is in it
    GATE     P/begin, before all that is in it        CHART  P, begins with P~N; after all that is in it
    GATE     P/own, BARRIER P@k                       the same, as P/own~N and P@k~N
    RESOURCE P:r                                      RESOURCE P:r

N is the revision. A node that is not removed, or is removed by the plan of another revision, is a gate in this plan.
Gates that hold nothing back are left out. If it makes the plan no longer, a gate is replaced by the nodes before it.
"""

import collections
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from tinkwell.core.release.graph import order
from tinkwell.core.release.graph.installation import layered, own_of
from tinkwell.core.release.kinds import NodeTask, PlanKind
from tinkwell.core.release.manifest import name
from tinkwell.core.release.plan import Plan, PlanNode


def reverse(gone: Mapping[str, int], plans: Mapping[int, Plan], *, first_batch: int) -> list[PlanNode]:
    """Return the nodes that remove resources without charts; in each layer, those of newer revisions come first.

    `gone` maps each resource to the revision that installed it last, and `plans` has the known plans of revisions.
    """
    newest_first = {path: -revision for path, revision in gone.items()}
    return layered(NodeTask.REMOVE, _removed_before(gone, plans), first_batch=first_batch, rank=newest_first)


def mirror(
    gone: Mapping[str, int],
    plans: Mapping[int, Plan],
    *,
    kept: Collection[str],
    weave: Callable[[Sequence[PlanNode]], list[PlanNode]] = list,
) -> list[PlanNode]:
    """Return the nodes that remove resources, and their charts except those in `kept`.

    `weave` inserts further nodes before gates are left out.
    """
    mirrored = _Mirror(gone, _gone_charts(gone, plans, kept))
    for revision in sorted(plans, reverse=True):
        mirrored.add(revision, plans[revision].installation)
    mirrored.add_others()
    return _pruned(weave(mirrored.nodes()))


class _Mirror:
    """The reversed plans of several revisions, joined to one."""

    def __init__(self, gone: Mapping[str, int], charts: Mapping[str, int]) -> None:
        self._gone = gone
        self._charts = charts
        # In the order in which ready nodes start.
        self._nodes: dict[str, PlanNode] = {}
        self._before: dict[str, list[str]] = {}
        # By node: names that come before it in a plan of another revision than its own.
        self._elsewhere: dict[str, list[str]] = {}
        # Of resources, and of the gates that replace them.
        self._chart_of: dict[str, str] = {}

    def add(self, revision: int, plan: Plan) -> None:
        """Add the plan of a revision; newer revisions must be added first."""
        charts = {node.begin: node.path for node in plan.nodes if node.kind is PlanKind.CHART}
        batches = {node.path: node.batch for node in plan.nodes}
        names = {node.path: self._name(node, charts, revision) for node in plan.nodes}
        for node in reversed(plan.nodes):
            path = names[node.path]
            if path in self._charts:
                chart = charts[node.path]
                batch = _mirrored_batch(chart, batches)
                self._put(PlanNode(path=path, kind=PlanKind.CHART, begin=names[chart], batch=batch))
            elif path in self._gone:
                self._put(PlanNode(path=path))
            else:
                kind = PlanKind.BARRIER if node.kind is PlanKind.BARRIER else PlanKind.GATE
                self._put(PlanNode(path=path, kind=kind))
            if node.kind is PlanKind.RESOURCE:
                self._chart_of[path] = name.split_chart(node.path)[0]
        for node in plan.nodes:
            for before in node.after:
                self._before[names[before]].append(names[node.path])
        self._link(names, charts)

    def add_others(self) -> None:
        """Add the resources without a known plan, each in its chart if that is removed."""
        for path in sorted(self._gone.keys() - self._nodes.keys()):
            self._put(PlanNode(path=path))
            chart = self._chart_of[path] = name.split_chart(path)[0]
            if chart in self._charts:
                self._before[path].append(self._nodes[chart].begin)
                self._before[chart].append(path)

    def nodes(self) -> list[PlanNode]:
        """Return all nodes in order."""
        before = {path: [*self._before[path], *self._elsewhere.get(path, ())] for path in self._nodes}
        if order.find_loop(before):
            # Plans of different revisions may contradict each other; a single plan does not contradict itself.
            before = self._before
        rank = {path: number for number, path in enumerate(self._nodes)}
        ordered = order.ranked(before, rank)
        place = {path: number for number, path in enumerate(ordered)}
        layers = self._layers(ordered, before)
        return [
            replace(
                self._nodes[path],
                task=NodeTask.REMOVE,
                batch=layers.get(path) or self._nodes[path].batch,
                after=tuple(sorted(set(before[path]), key=place.__getitem__)),
            )
            for path in ordered
        ]

    def _name(self, node: PlanNode, charts: Mapping[str, str], revision: int) -> str:
        """Return a node's name in the reversed plan; the begin of a chart that this plan removes becomes the chart."""
        chart = charts.get(node.path, "")
        if chart and self._charts.get(chart) == revision:
            return chart
        is_removed = node.kind is PlanKind.RESOURCE and self._gone.get(node.path) == revision
        return node.path if is_removed else f"{node.path}~{revision}"

    def _link(self, names: Mapping[str, str], charts: Mapping[str, str]) -> None:
        """Note nodes that another revision's plan removes: they also come after their place in this plan."""
        for original, path in names.items():
            if original != path and original in self._gone:
                self._elsewhere.setdefault(original, []).append(path)
        for begin, chart in charts.items():
            if chart in self._charts and names[begin] != chart:
                self._elsewhere.setdefault(chart, []).append(names[begin])
                self._elsewhere.setdefault(names[chart], []).append(f"{chart}~{self._charts[chart]}")

    def _put(self, node: PlanNode) -> None:
        self._nodes[node.path] = node
        self._before[node.path] = []

    def _layers(self, ordered: Sequence[str], before: Mapping[str, Sequence[str]]) -> dict[str, int]:
        """Return the layer of each resource among those of its chart, from 1."""
        found: dict[str, int] = {}
        for path in (each for each in ordered if each in self._chart_of):
            chart = self._chart_of[path]
            near = (found[each] for each in before[path] if self._chart_of.get(each) == chart)
            found[path] = max(near, default=0) + (path in self._gone)
        return {path: layer for path, layer in found.items() if path in self._gone}


def _gone_charts(gone: Mapping[str, int], plans: Mapping[int, Plan], kept: Collection[str]) -> dict[str, int]:
    """Return the charts with removed resources, each with the revision whose plan removes it.

    For the newest revision this includes charts without resources.
    """
    inhabited: set[str] = set()
    for path in gone:
        chart = name.split_chart(path)[0]
        while chart and chart not in inhabited:
            inhabited.add(chart)
            chart = chart.rpartition(".")[0]
    found: dict[str, int] = {}
    for revision in sorted(plans):
        charts = {node.path for node in plans[revision].nodes if node.kind is PlanKind.CHART} - set(kept)
        found.update(dict.fromkeys(charts if revision == max(plans) else charts & inhabited, revision))
    return found


def _mirrored_batch(chart: str, batches: Mapping[str, int]) -> int:
    """Return the batch of a chart in its parent, counted from the last one, which has the parent's own resources."""
    parent = chart.rpartition(".")[0]
    return batches[own_of(parent)] + 1 - batches[chart] if parent else 1


def _pruned(nodes: Sequence[PlanNode]) -> list[PlanNode]:
    """Leave out gates and barriers with no node before or after; replace small gates by the nodes before them."""
    passed: set[str] = set()
    kept: list[PlanNode] = []
    for node in nodes:
        after = tuple(path for path in node.after if path not in passed)
        if node.is_real or after:
            kept.append(replace(node, after=after, begin="" if node.begin in passed else node.begin))
        else:
            passed.add(node.path)
    uses: collections.Counter[str] = collections.Counter()
    for node in reversed(kept):
        if node.is_real or uses[node.path]:
            uses.update((*node.after, node.begin) if node.begin else node.after)
    begins = {node.begin for node in kept}
    stands_for: dict[str, tuple[str, ...]] = {}
    found: list[PlanNode] = []
    for node in kept:
        after = tuple(dict.fromkeys(each for path in node.after for each in stands_for.get(path, (path,))))
        is_named_once = uses[node.path] == 1 and node.path not in begins
        if node.kind is PlanKind.GATE and (len(after) == 1 or is_named_once):
            stands_for[node.path] = after
        elif node.is_real or uses[node.path]:
            [begin] = stands_for.get(node.begin, (node.begin,))
            found.append(replace(node, after=after, begin=begin))
    return found


def _removed_before(gone: Mapping[str, int], plans: Mapping[int, Plan]) -> dict[str, list[str]]:
    """Return for each removed resource the resources that are removed before it, because they depended on it."""
    found: dict[str, list[str]] = {path: [] for path in gone}
    for revision, plan in plans.items():
        for path, those in _nearest(plan, gone).items():
            if gone.get(path) == revision:
                for prerequisite in those:
                    found[prerequisite].append(path)
    if not order.find_loop(found):
        return found
    # Plans of different revisions may contradict each other; a single plan does not contradict itself.
    return {path: [other for other in found[path] if gone[other] == gone[path]] for path in found}


def _nearest(plan: Plan, gone: Mapping[str, int]) -> dict[str, set[str]]:
    """Return for each resource of a plan the removed resources that it depends on, directly or through others."""
    found: dict[str, set[str]] = {}
    for node in plan.nodes:
        if node.task is NodeTask.INSTALL:
            found[node.path] = set()
            for before in node.after:
                found[node.path] |= {before} if before in gone else found.get(before, set())
    return found
