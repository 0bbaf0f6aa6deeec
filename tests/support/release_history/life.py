"""Whether what is in the life of charts came in its order, once, and in its place, by the event log.

What is emitted in which order is written down here anew, so that what plans do not say is missed, too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from support.history.record import Violation
from support.release_history.record import Emission, Event, Node, Plan
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.release.kinds import NodeState, NodeTask, OperationKind, Wait
from tinkwell.core.release.lifecycle_event.path import event_node, split_event, split_hook
from tinkwell.core.release.lifecycle_event.run import Outcome
from tinkwell.core.release.manifest.name import split_chart
from tinkwell.core.release.walk import BEGUN, DONE

RULES = _ORDER, _ONCE, _PLACE, _WHOLE = "H1", "H2", "H3", "H4"
_LOADED = "chart-loaded"
_READ = ("read-chart", _LOADED)
_RENDERED = ("pre-render", "render", "post-render", "pre-validate", "validate", "post-validate")
PREPARED = (*_READ, *_RENDERED)
_WAITING = ("wait", "ready")
_FAILED_TEST = "failed-test"
# What a chart hears that leaves, be it by an upgrade.
_LEAVING = ("pre-delete", "post-delete")
_WALKED: Mapping[OperationKind, Sequence[str]] = {
    OperationKind.INSTALL: ("pre-install", "install", "post-install", *_WAITING),
    OperationKind.UPGRADE: ("pre-upgrade", "upgrade", "post-upgrade", *_WAITING),
    OperationKind.ROLLBACK: ("pre-rollback", "rollback", "post-rollback", *_WAITING),
    OperationKind.UNINSTALL: ("pre-delete", "delete", "post-delete"),
    OperationKind.TEST: ("pre-test", "test", "post-test", _FAILED_TEST),
    OperationKind.PLAN: (),
}
_RENDERING = (OperationKind.INSTALL, OperationKind.UPGRADE, OperationKind.PLAN)
# Whether anybody hears these is up to what was there before.
_OF_FORMER = ("pre-rollback",)

_Finding = tuple[str, str]


def check(
    events: Sequence[Event],
    nodes: Sequence[Node],
    plans: Sequence[Plan],
    emissions: Sequence[Emission],
    kinds: Mapping[str, OperationKind],
) -> Iterator[Violation]:
    """Yield what is wrong."""
    replays = {
        id_: _Replay(
            kind,
            [node for node in nodes if node.operation_id == id_],
            next((plan for plan in plans if plan.operation_id == id_), None),
        )
        for id_, kind in kinds.items()
    }
    told: list[Event | Emission] = [*events, *emissions]
    for each in sorted(told, key=lambda each: each.revision):
        is_own = isinstance(each, Event) and each.resource_type is ResourceType.OPERATION
        operation_id = each.resource_id if isinstance(each, Event) and is_own else each.operation_id
        replay = replays.get(operation_id)
        if replay is None:  # for others to tell
            continue
        for rule, text in replay.hear(each) if isinstance(each, Emission) else replay.take(each):
            who = f"operation {operation_id} ({kinds[operation_id]})"
            yield Violation(rule, who, f"revision {each.revision}: {text}")


class _Replay:
    """One operation, event by event."""

    def __init__(self, kind: OperationKind, nodes: Sequence[Node], plan: Plan | None) -> None:
        self._kind = kind
        self._tasks = {node.path: node.task for node in nodes}
        self._states = dict.fromkeys(self._tasks, NodeState.PENDING)
        self._plan = plan
        self._order = (*(PREPARED if kind in _RENDERING else _READ), *_WALKED[kind])
        self._order += () if kind is OperationKind.UNINSTALL else _LEAVING
        # What was emitted, by chart, in its order, and how it went by.
        self._heard: dict[str, list[str]] = {}
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._is_walking = False
        self._latest = 0

    def hear(self, told: Emission) -> Iterator[_Finding]:
        """Yield the rules that an emission breaks, and how."""
        what, known = f"{told.event} of {told.chart}", self._heard.setdefault(told.chart, [])
        is_first = told.version == 1
        if is_first and told.event in known:
            yield _ONCE, f"{what} is emitted for the second time"
        elif not is_first and (told.event not in known or self._is_walking) and told.event != _FAILED_TEST:
            yield _ONCE, f"{what} is emitted again, as version {told.version}"
        elif is_first:
            yield from self._in_turn(told, what, known)
            known.append(told.event)
        if (told.outcome is Outcome.WARNED) > (told.event in ("ready", _FAILED_TEST)):
            yield _WHOLE, f"{what} only warns"
        self._outcomes[told.event, told.chart] = told.outcome

    def _in_turn(self, told: Emission, what: str, known: Sequence[str]) -> Iterator[_Finding]:
        if told.event not in self._order:
            yield _ORDER, f"{what} does not belong to a {self._kind}"
            return
        rank = self._order.index(told.event)
        late = [each for each in known if each in self._order and self._order.index(each) > rank]
        if late:
            yield _ORDER, f"{what} comes after its {late[0]}"
        if told.event in PREPARED:
            if self._is_walking or rank < self._latest:
                yield _ORDER, f"{what} comes after {self._order[self._latest]}"
            if told.event == _LOADED and any(told.chart.startswith(f"{chart}.") for chart in self._loaded()):
                yield _ORDER, f"{what} comes after that of the chart that it is in"
            self._latest = max(rank, self._latest)

    def _loaded(self) -> Collection[str]:
        return [chart for chart, heard in self._heard.items() if _LOADED in heard]

    def take(self, event: Event) -> Iterator[_Finding]:
        """Yield the rules that the move of a node breaks, or the end of the operation, and how."""
        if event.resource_type is ResourceType.OPERATION:
            yield from self._end(State(event.state))
        if event.resource_type is not ResourceType.NODE or event.path not in self._states:
            return
        self._is_walking = True
        state = NodeState(event.state)
        if state in BEGUN and self._states[event.path] not in BEGUN:
            yield from self._begin(event.path)
        self._states[event.path] = state

    def _begin(self, path: str) -> Iterator[_Finding]:
        chart, event = _life_of(path)
        if event:
            yield from self._begin_life(path, chart, event)
        yield from self._begin_inside(path)

    def _begin_inside(self, path: str) -> Iterator[_Finding]:
        """Something begins: after the first events of all charts that it is in, and before their last ones."""
        task = self._tasks[path]
        for other in self._states:
            around, event = _life_of(other)
            if not event or not self._is_in(path, around):
                continue
            state, of = self._states[other], self._tasks[other]
            if event.startswith("pre-") and of is task and state not in DONE:
                yield _PLACE, f"{path} begins while {other} is {state}"
            is_former = task is NodeTask.REMOVE and of is NodeTask.INSTALL
            # One that is SKIPPED never comes, while what does not depend on a failure goes on.
            has_come = state not in (NodeState.PENDING, NodeState.SKIPPED)
            if event.startswith("post-") and not is_former and has_come:
                yield _PLACE, f"{path} begins while {other} is {state}"

    def _begin_life(self, path: str, chart: str, event: str) -> Iterator[_Finding]:
        """An event begins, or a hook of it: before all that is in its chart, or after it."""
        node = event_node(chart, event)
        if path != node and (self._states.get(node) not in DONE or event not in self._heard.get(chart, ())):
            yield _PLACE, f"{path} begins before {node} was emitted"
        task = self._tasks[path]
        is_of_all = task is NodeTask.REMOVE and event not in _LEAVING
        for other in self._states:
            if not self._is_in(other, chart) or not (is_of_all or self._tasks[other] is task):
                continue
            state = self._states[other]
            if state is not NodeState.PENDING if event.startswith("pre-") else self._is_missed(state, event):
                yield _PLACE, f"{path} begins while {other} is {state}"
        if event in _WAITING:
            for other, state in self._states.items():
                of, former = _life_of(other)
                if of == chart and former.startswith("post-") and self._tasks[other] is task and state not in DONE:
                    yield _PLACE, f"{path} begins while {other} is {state}"

    def _is_in(self, path: str, chart: str) -> bool:
        """Whether something comes within a chart: subcharts are tested one by one, whatever is in which."""
        return _is_inside(path, chart) and (self._kind is not OperationKind.TEST or "." not in chart)

    def _is_missed(self, state: NodeState, event: str) -> bool:
        """Whether something in a chart has not ended when an event is emitted that comes after it."""
        return state not in DONE and (event.startswith("post-") or event in _WAITING)

    def _end(self, state: State) -> Iterator[_Finding]:
        failed = [place for place, outcome in self._outcomes.items() if outcome is Outcome.FAILED]
        if state is State.SUCCEEDED:
            yield from ((_WHOLE, f"it has succeeded, and {event} of {chart} failed") for event, chart in failed)
            yield from ((_WHOLE, f"it has succeeded without {each}") for each in self._lacking())
        elif state.is_final:
            for event, chart in failed:
                after = self._heard[chart][self._heard[chart].index(event) + 1 :] if event in self._heard[chart] else ()
                if after or (event in PREPARED and self._states):
                    yield _WHOLE, f"{event} of {chart} failed, and {(*after, 'the walk')[0]} came after it"

    def _lacking(self) -> Iterator[str]:
        charts = self._plan.charts if self._plan is not None else None
        is_waiting = charts is not None and charts.wait is not Wait.NONE
        due = [each for each in _WALKED[self._kind] if each != _FAILED_TEST and (is_waiting or each not in _WAITING)]
        for chart, heard in self._heard.items():
            if "." not in chart:
                yield from (f"{event} of {chart}" for event in due if event not in heard)
        for chart, wanted in charts.heard.items() if charts is not None else ():
            missed = {*wanted}.intersection(due).difference(_OF_FORMER, self._heard.get(chart, ()))
            yield from (f"{event} of {chart}" for event in sorted(missed))


def is_prepared(culprit: str) -> bool:
    """Whether something is an event that is emitted before there is a plan."""
    return split_event(culprit)[1] in PREPARED


def _life_of(path: str) -> tuple[str, str]:
    """Return the chart and the event of an event's or a hook's node; of others the event is empty."""
    if "@" in path:
        hook, event = split_hook(path)
        return split_chart(hook)[0], event
    return split_event(path) if "/" in path else (path, "")


def _is_inside(path: str, chart: str) -> bool:
    """Whether something is in a chart, and does not belong to the chart's own life."""
    is_own = _life_of(path)[0] == chart
    return path.startswith((f"{chart}.", f"{chart}:")) and not is_own
