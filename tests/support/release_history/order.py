"""Whether charts, and what is in them, came in their order, and went in its reverse, by the event log.

Who must wait for whom is told from the charts as they were made. Nothing of the product is asked for it, so that what
its plans do not say is missed, too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from support.history.record import Violation
from support.release_history.record import OWN, Charts, Event, Node, Plan
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.release.kinds import NodeState, NodeTask, Wait
from tinkwell.core.release.manifest import name
from tinkwell.core.release.walk import BEGUN, DONE

RULES = _EDGE, _BATCH, _INSIDE, _REVERSE = "C1", "C2", "C3", "C4"


def check(events: Sequence[Event], nodes: Sequence[Node], plans: Sequence[Plan]) -> Iterator[Violation]:
    """Yield what is wrong."""
    replay = _Replay(nodes, plans)
    for event in events:
        if event.resource_type is ResourceType.NODE:
            for rule, text in replay.take(event):
                who = f"release {event.release_id}, operation {event.operation_id}"
                yield Violation(rule, who, f"revision {event.revision}: {text}")


class Order:
    """Which of two charts or resources of a release comes first."""

    def __init__(self, charts: Charts) -> None:
        self._edges: dict[str, set[tuple[str, str]]] = {}
        self._ranks: dict[str, Mapping[str, int]] = {}
        if charts.wait is not Wait.NONE:
            for path, children in charts.children.items():
                edges = charts.edges.get(path, ())
                self._edges[path] = _closure(edges)
                self._ranks[path] = _ranks(children, edges, is_ordered=charts.wait is Wait.ORDERED)

    def rule(self, before: str, after: str) -> str:
        """Return the rule by which one must end before another begins; empty where there is none."""
        one, other = _place(before), _place(after)
        level = next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
        if level is None:  # one is in the other, or both are in the same chart
            return ""
        chart = ".".join(one[:level])
        if (one[level], other[level]) in self._edges.get(chart, ()):
            return _EDGE
        ranks = self._ranks.get(chart, {})
        is_ranked = one[level] in ranks and other[level] in ranks
        return _BATCH if is_ranked and ranks[one[level]] < ranks[other[level]] else ""


class _Replay:
    """The states of all nodes, event by event."""

    def __init__(self, nodes: Sequence[Node], plans: Sequence[Plan]) -> None:
        self._orders = {plan.operation_id: Order(plan.charts) for plan in plans if plan.charts is not None}
        self._tasks: dict[str, dict[str, NodeTask]] = {}
        for node in nodes:
            self._tasks.setdefault(node.operation_id, {})[node.path] = node.task
        self._states: dict[tuple[str, str], NodeState] = {}
        # By which operation a resource was installed last, empty where that did not go well.
        self._made: dict[tuple[str, str], str] = {}

    def take(self, event: Event) -> Iterator[tuple[str, str]]:
        """Yield the rules that are broken, and how."""
        task = self._tasks.get(event.operation_id, {}).get(event.path)
        if task is None:  # for others to tell
            return
        state = NodeState(event.state)
        former = self._state(event, event.path)
        others = [path for path, of in self._tasks[event.operation_id].items() if of is task and path != event.path]
        if state in BEGUN and former not in BEGUN:
            yield from self._begin(event, task, others)
        elif state in (*DONE, NodeState.FAILED):
            yield from self._end(event, state, others)
        self._states[event.operation_id, event.path] = state
        if task is NodeTask.INSTALL:
            self._made[event.release_id, event.path] = event.operation_id if state is NodeState.READY else ""

    def _begin(self, event: Event, task: NodeTask, others: Sequence[str]) -> Iterator[tuple[str, str]]:
        for other in others:
            state = self._state(event, other)
            is_around = _is_inside(event.path, other)
            if is_around and state not in BEGUN:
                yield _INSIDE, f"{event.path} begins while {other} is {state}"
            rule = self._rule(event, task, other)
            # Whoever is behind a barrier does not mind how what is before it has ended.
            is_passed = state.is_final if rule == _BATCH else state in DONE
            if rule and not is_passed:
                broken = rule if task is NodeTask.INSTALL else _REVERSE
                yield broken, f"{event.path} begins while {other} is {state}"

    def _rule(self, event: Event, task: NodeTask, other: str) -> str:
        """Return the rule by which another node comes before one, which begins."""
        if task is NodeTask.INSTALL:
            order = self._orders.get(event.operation_id)
            return order.rule(other, event.path) if order is not None else ""
        origin = self._origin(event, event.path)
        order = self._orders.get(origin) if origin == self._origin(event, other) else None
        return order.rule(event.path, other) if order is not None else ""

    def _origin(self, event: Event, path: str) -> str:
        """Return by which operation something that is removed was installed last, for charts with all that is removed.

        Different plans need not agree about their order.
        """
        if ":" in path:
            return self._made.get((event.release_id, path), "")
        tasks = self._tasks[event.operation_id]
        resources = (
            each for each, task in tasks.items() if task is NodeTask.REMOVE and ":" in each and "@" not in each
        )
        origins = {self._made.get((event.release_id, each), "") for each in resources}
        return origins.pop() if len(origins) == 1 else ""

    def _end(self, event: Event, state: NodeState, others: Sequence[str]) -> Iterator[tuple[str, str]]:
        for other in others:
            inside = self._state(event, other)
            is_ended = inside in DONE if state in DONE else inside not in BEGUN
            if _is_inside(other, event.path) and not is_ended:
                yield _INSIDE, f"{event.path} is {state} while {other} is {inside}"

    def _state(self, event: Event, path: str) -> NodeState:
        return self._states.get((event.operation_id, path), NodeState.PENDING)


def _place(path: str) -> Sequence[str]:
    """Return the names of the charts that something is in, and its own or, for a resource, OWN.

    Hooks and events of a chart come around all else that is in it, so that each of them stands for itself.
    """
    if "@" in path or "/" in path:
        return (*name.parent_chart(path).split("."), path)
    chart, colon, _ = path.partition(":")
    return (*chart.split("."), OWN) if colon else chart.split(".")


def _is_inside(path: str, chart: str) -> bool:
    return path.startswith((f"{chart}.", f"{chart}:", f"{chart}/"))


def _closure(edges: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return who comes after whom, be it by way of others."""
    found = set(edges)
    while more := {(one, last) for one, other in found for first, last in edges if other == first} - found:
        found |= more
    return found


def _ranks(children: Collection[str], edges: Collection[tuple[str, str]], *, is_ordered: bool) -> Mapping[str, int]:
    """Return the batches of subcharts, and of the chart's own resources; who comes into none waits for none."""
    sequenced = {name for edge in edges for name in edge} - {OWN}
    if not is_ordered:
        return dict.fromkeys(sequenced, 0) | {OWN: 1}
    befores = {name: [before for before, after in edges if after == name] for name in sequenced}

    def batch(name: str) -> int:
        return 1 + max((batch(before) for before in befores[name]), default=0)

    batches = {name: batch(name) for name in sequenced}
    last = 1 + max(batches.values(), default=0)
    return {name: batches.get(name, last) for name in (*children, OWN)}
