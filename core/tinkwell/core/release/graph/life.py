"""Adds the events of charts, and their hooks, to a plan that installs and removes without them.

The first events of a chart P come after the node that begins P, and before all nodes that came after that node. The
last events come before the node that ends the chart. A hook comes after its event, and after the hooks before it.

    installation of P, by verb v                           removal of P
    GATE   P/begin                                         GATE   P~N
    EVENT  P/pre-v, HOOK P:r@pre-v …                       EVENT  P/pre-delete, HOOK P:r@pre-delete …
    EVENT  P/v                   of the root alone         EVENT  P/delete              of the root alone
           …                     all that is in P                 …                     all that is in P
    EVENT  P/post-v, HOOK P:r@post-v …                     EVENT  P/post-delete, HOOK P:r@post-delete …
    EVENT  P/wait, EVENT P/ready unless wait is none       CHART  P
    CHART  P

A chart that is removed, but has no resources to remove, has its events and hooks too, without gate and CHART.

The root has all its events; other charts have those that a handler hears. The last events of the root come after the
removals, and belong to these if there are any. Without charts the whole release is like a chart with an empty path,
which has the events that a handler hears.

A rollback begins with the events of the revision that it leaves, and a chart that is removed has its own last events:
`former` describes these.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tinkwell.core.release.kinds import NodeTask, OperationKind, PlanKind, Wait
from tinkwell.core.release.lifecycle_event import name as events
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.lifecycle_event.path import event_node, hook_node
from tinkwell.core.release.manifest import hook, name
from tinkwell.core.release.manifest.name import split_chart
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import PlanNode

_WAITING = (Event.WAIT, Event.READY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The events and hooks that are added to the plan of an operation.

    `manifest` is what is installed or tested, and `heard` maps the paths of its charts to their events that handlers
    hear. `former` and `former_heard` describe the state before the operation; None if there was none.
    """

    kind: OperationKind
    manifest: RenderedManifest | None
    heard: Mapping[str, Collection[str]] = field(default_factory=dict)
    former: RenderedManifest | None = None
    former_heard: Mapping[str, Collection[str]] = field(default_factory=dict)
    wait: Wait = Wait.ORDERED


@dataclass(frozen=True, slots=True)
class _HeardEvents:
    """The events of a manifest's charts that handlers hear."""

    manifest: RenderedManifest | None
    heard: Mapping[str, Collection[str]]

    def chain(self, chart: str, wanted: Sequence[str], *, task: NodeTask, all_of: str | None) -> list[PlanNode]:
        """Return a chart's events in a row, each with its hooks. The chart `all_of` has all events."""
        found: list[PlanNode] = []
        for event in wanted:
            hooks = self._hooks(chart, event)
            if hooks or chart == all_of or event in self.heard.get(chart, ()):
                found.append(PlanNode(path=event_node(chart, event), kind=PlanKind.EVENT, task=task))
                found += (PlanNode(path=hook_node(path, event), kind=PlanKind.HOOK, task=task) for path in hooks)
        return [replace(node, after=() if place == 0 else (found[place - 1].path,)) for place, node in enumerate(found)]

    def _hooks(self, chart: str, event: str) -> list[str]:
        hooks = self.manifest.hooks if self.manifest is not None else {}
        return hook.in_order(((path, each) for path, each in hooks.items() if split_chart(path)[0] == chart), event)


class Weaver:
    """Adds events and hooks to the nodes that install, and then to those that remove."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._present = _HeardEvents(life.manifest, life.heard)
        is_left = life.kind is OperationKind.ROLLBACK and life.former is not None
        self._former = _HeardEvents(life.former, life.former_heard)
        # A rollback begins with the events of the revision that it leaves.
        self._first = self._former if is_left else self._present
        self._verb = events.verb_of(life.kind)

    def install(self, nodes: Sequence[PlanNode], *, has_removals: bool) -> list[PlanNode]:
        """Return the nodes that install with their events; with removals, without the last events of the root."""
        task, manifest = NodeTask.INSTALL, self._life.manifest
        if manifest is None:
            return list(nodes)
        root = manifest.root
        if not manifest.charts:
            tail = [] if has_removals else self._last(root, task)
            return _wrapped(nodes, self._begins(root), tail)
        for chart in manifest.charts:
            tail = [] if has_removals and chart == root else self._last(chart, task)
            nodes = _woven(nodes, chart, self._begins(chart), tail)
        return list(nodes)

    def remove(self, nodes: Sequence[PlanNode]) -> list[PlanNode]:
        """Return the nodes that remove charts with their events, before nodes are left out."""
        charts = [node.path for node in nodes if node.kind is PlanKind.CHART]
        for chart in charts:
            if not self._is_uninstalled(chart):
                nodes = _woven(nodes, chart, *self._leaves(chart))
        former = self._life.former
        if former is None:
            return list(nodes)
        nodes = [*nodes, *self._events_without_nodes(former, charts)]
        if not self._is_uninstalled(former.root):
            return list(nodes)
        weave = _woven if former.root in charts else _over_all
        return weave(nodes, former.root, *self._leaves(former.root))

    def _events_without_nodes(self, former: RenderedManifest, charts: Collection[str]) -> list[PlanNode]:
        """Return the events of charts that go and have no resources to remove, each around its subcharts' events."""
        kept = self._life.manifest.charts if self._life.manifest is not None else {}
        found: dict[str, list[PlanNode]] = {}
        # Children come after their parents.
        for chart in reversed([*former.charts]):
            inside: list[PlanNode] = []
            for child in [each for each in found if name.parent_chart(each) == chart]:
                inside = _joined(inside, found.pop(child))
            if chart in kept or chart in charts or self._is_uninstalled(chart):
                found |= {chart: inside} if inside else {}
                continue
            head, tail = self._leaves(chart)
            if chain := _joined(_joined(head, inside), tail):
                found[chart] = chain
        return [node for chain in found.values() for node in chain]

    def conclude(self, nodes: Sequence[PlanNode]) -> list[PlanNode]:
        """Return the nodes that remove, followed by the last events of the installed charts."""
        manifest = self._life.manifest
        if manifest is None or not nodes:
            return list(nodes)
        return _wrapped(nodes, [], self._last(manifest.root, NodeTask.REMOVE))

    def _begins(self, chart: str) -> list[PlanNode]:
        verb, task, all_of = self._verb, NodeTask.INSTALL, self._root
        head = self._first.chain(chart, (events.before(verb),), task=task, all_of=all_of)
        core = self._present.chain(chart, (verb,) if chart == all_of else (), task=task, all_of=all_of)
        return _joined(head, core)

    def _last(self, chart: str, task: NodeTask) -> list[PlanNode]:
        wanted = (events.after(self._verb), *(_WAITING if self._life.wait is not Wait.NONE else ()))
        return self._present.chain(chart, wanted, task=task, all_of=self._root)

    def _leaves(self, chart: str) -> tuple[list[PlanNode], list[PlanNode]]:
        """Return the first and the last events of a chart that is removed."""
        task = NodeTask.REMOVE
        is_root = self._is_uninstalled(chart) and bool(self._life.former and self._life.former.charts)
        all_of, core = (chart, (CoreEvent.DELETE,)) if is_root else (None, ())
        head = self._former.chain(chart, (Event.PRE_DELETE, *core), task=task, all_of=all_of)
        return head, self._former.chain(chart, (Event.POST_DELETE,), task=task, all_of=all_of)

    def _is_uninstalled(self, chart: str) -> bool:
        """Whether the operation uninstalls, and this is the root or the release without charts."""
        former = self._life.former
        return self._life.kind is OperationKind.UNINSTALL and former is not None and chart == former.root

    @property
    def _root(self) -> str | None:
        """The chart whose events are all emitted; None without charts."""
        manifest = self._life.manifest
        return manifest.root if manifest is not None and manifest.charts else None


def test_nodes(life: Life) -> list[PlanNode]:
    """Return the nodes that test a release: the hooks of its charts one by one, those of subcharts first.

    A subchart has the events around its hooks that a handler hears.
    """
    heard_events, manifest = _HeardEvents(life.manifest, life.heard), life.manifest or RenderedManifest()
    root, all_of = manifest.root, manifest.root if manifest.charts else None
    task = NodeTask.INSTALL
    around = (Event.PRE_TEST, CoreEvent.TEST, Event.POST_TEST)
    chains = [heard_events.chain(root, around[:1], task=task, all_of=all_of)]
    chains += [heard_events.chain(chart, around, task=task, all_of=None) for chart in _subcharts(manifest, root)]
    chains.append(heard_events.chain(root, around[1:], task=task, all_of=all_of))
    found: list[PlanNode] = []
    for chain in chains:
        found = _joined(found, chain)
    return found


def _subcharts(manifest: RenderedManifest, chart: str) -> Iterator[str]:
    """Yield the subcharts of a chart, batch by batch, each after those in it."""
    for batch in manifest.charts[chart].batches if chart else ():
        for child in (f"{chart}.{each}" for each in batch):
            if child in manifest.charts:
                yield from _subcharts(manifest, child)
                yield child


def _joined(head: Sequence[PlanNode], tail: Sequence[PlanNode]) -> list[PlanNode]:
    """Return two chains joined to one."""
    if not head or not tail:
        return [*head, *tail]
    return [*head, replace(tail[0], after=(head[-1].path,)), *tail[1:]]


def _woven(nodes: Sequence[PlanNode], chart: str, head: Sequence[PlanNode], tail: Sequence[PlanNode]) -> list[PlanNode]:
    """Insert a chain after the beginning of a chart, and another one before its end."""
    if not head and not tail:
        return list(nodes)
    [whole] = (node for node in nodes if node.path == chart and node.kind is PlanKind.CHART)
    begin, lead = whole.begin, head[-1].path if head else whole.begin
    found: list[PlanNode] = []
    for node in nodes:
        if node.path == chart:
            inside = tuple(lead if path == begin else path for path in node.after)
            found += _after(tail, inside)
            found.append(replace(node, after=(*node.after, *(each.path for each in (*head, *tail)))))
        else:
            found.append(replace(node, after=tuple(lead if path == begin else path for path in node.after)))
        if node.path == begin:
            found += _after(head, (begin,))
    return found


def _wrapped(nodes: Sequence[PlanNode], head: Sequence[PlanNode], tail: Sequence[PlanNode]) -> list[PlanNode]:
    """Put a chain before all nodes, and another one after them."""
    lead = (head[-1].path,) if head else ()
    led = [replace(node, after=node.after or lead) for node in nodes]
    named = {path for node in led for path in (*node.after, node.begin)}
    ends = tuple(node.path for node in led if node.path not in named) or lead
    return [*head, *led, *_after(tail, ends)]


def _over_all(
    nodes: Sequence[PlanNode], _chart: str, head: Sequence[PlanNode], tail: Sequence[PlanNode]
) -> list[PlanNode]:
    return _wrapped(nodes, head, tail)


def _after(chain: Sequence[PlanNode], before: Collection[str]) -> Iterator[PlanNode]:
    """Yield a chain with its first node after the given ones."""
    for place, node in enumerate(chain):
        yield node if place else replace(node, after=tuple(before))
