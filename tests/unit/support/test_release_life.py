"""The judge of releases convicts events and hooks of charts that come in another order, again, or in another place."""

import dataclasses
from collections.abc import Callable

import pytest

from support.release_history import life, verdict
from support.release_history.record import Charts, Emission, Event, History, Node, Plan
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import NodeState, NodeTask, OperationKind, Wait
from tinkwell.core.release.lifecycle_event.run import Outcome

ONE = "one"
INNER = "top.a"
CHARTS = Charts(
    Wait.ORDERED,
    {"top": ("a",), INNER: ()},
    {"top": frozenset(), INNER: frozenset()},
    {"top": ("pre-install",), INNER: ("pre-install", "post-install", "pre-rollback", "pre-delete")},
)
HOOK, LAST_HOOK = "top:hook@pre-install", f"{INNER}:hook@post-install"
# In the order in which all is installed.
HEAD = ("top/pre-install", HOOK, "top/install")
INSIDE = (f"{INNER}/pre-install", f"{INNER}:r", f"{INNER}/post-install", LAST_HOOK)
TAIL = ("top/post-install", "top/wait", "top/ready")
WALK = (*HEAD, *INSIDE, INNER, "top:r", *TAIL, "top")
GONE = ("top/pre-delete", "top/delete", f"{INNER}/pre-delete", f"{INNER}:r", "top:r", "top/post-delete")
# Subcharts are tested one by one, each after those that are in it.
TESTED = ("top/pre-test", f"{INNER}.b/pre-test", f"{INNER}/pre-test", "top/test", "top:hook@test", "top/post-test")


class Story:
    """Writes what is heard of one operation; the chart `top` has a subchart `a`, and either has a resource `r`."""

    def __init__(self, kind: OperationKind = OperationKind.INSTALL, *, charts: Charts | None = CHARTS) -> None:
        self._kind = kind
        self._plan = Plan(ONE, "shop", frozenset({State.SUCCEEDED}), charts=charts)
        self._events: list[Event] = []
        self._emissions: list[Emission] = []
        is_removal = kind is OperationKind.UNINSTALL
        paths = {OperationKind.UNINSTALL: GONE, OperationKind.TEST: TESTED}.get(kind, WALK)
        self._task = NodeTask.REMOVE if is_removal else NodeTask.INSTALL
        self._nodes = [
            Node(id=path, operation_id=ONE, path=path, task=self._task, state=NodeState.PENDING) for path in paths
        ]

    def prepare(self, *left_out: str) -> "Story":
        """All is emitted that comes before a plan."""
        for event in life.PREPARED:
            if event == "chart-loaded" and "inner" not in left_out:
                self.emit(event, INNER)
            if event not in left_out:
                self.emit(event)
        return self

    def emit(self, event: str, chart: str = "top", outcome: Outcome = Outcome.SUCCEEDED, version: int = 1) -> "Story":
        """An event of a chart is emitted."""
        self._emissions.append(
            Emission(
                revision=self._tick(), operation_id=ONE, event=event, chart=chart, version=version, outcome=outcome
            )
        )
        return self

    def move(self, path: str, state: NodeState) -> "Story":
        """A node moves."""
        return self._add(ResourceType.NODE, path, str(state))

    def begin(self, path: str) -> "Story":
        """A node begins."""
        is_install = self._task is NodeTask.INSTALL
        return self.move(path, NodeState.INSTALLING if is_install else NodeState.REMOVING)

    def done(self, *paths: str) -> "Story":
        """Nodes are done, one after the other; those of events are emitted."""
        for path in paths:
            self.begin(path)
            chart, slash, event = path.rpartition("/")
            if slash:
                self.emit(event, chart)
            self.move(path, NodeState.READY if self._task is NodeTask.INSTALL else NodeState.REMOVED)
        return self

    def end(self, state: State = State.SUCCEEDED) -> "Story":
        """The operation ends."""
        return self._add(ResourceType.OPERATION, "", str(state))

    def rules(self) -> set[str]:
        """The rules that were broken."""
        found = life.check(self._events, self._nodes, [self._plan], self._emissions, {ONE: self._kind})
        return {violation.rule for violation in found}

    def _add(self, of: ResourceType, path: str, state: str) -> "Story":
        is_node = of is ResourceType.NODE
        made = Event(
            revision=self._tick(),
            at=0.0,
            resource_type=of,
            resource_id=path if is_node else ONE,
            release_id="release",
            event_type=EventType.UPDATED,
            version=1,
            state=state,
            operation_id=ONE if is_node else "",
            path=path,
        )
        self._events.append(made)
        return self

    def _tick(self) -> int:
        return len(self._events) + len(self._emissions) + 1


def but(*left_out: str) -> tuple[str, ...]:
    """Return all that is installed but for these."""
    return tuple(path for path in WALK if path not in left_out)


def installing() -> Story:
    """All that comes before a plan was emitted."""
    return Story().prepare()


GOOD: list[Callable[[], Story]] = [
    lambda: installing().done(*WALK).end(),
    lambda: Story(charts=dataclasses.replace(CHARTS, wait=Wait.NONE)).prepare().done(*but(*TAIL[1:])).end(),
    # Whoever takes an operation without a plan prepares it anew.
    lambda: Story().emit("read-chart").emit("read-chart", version=2).prepare("read-chart").done(*WALK).end(),
    lambda: Story().emit("read-chart").emit("chart-loaded").emit("pre-render", outcome=Outcome.FAILED),
    lambda: installing().done(*HEAD[:2]).end(State.FAILED),
    lambda: installing().done(*but("top/ready", "top")).emit("ready", outcome=Outcome.WARNED).end(),
    lambda: Story(OperationKind.UNINSTALL, charts=None).emit("read-chart").emit("chart-loaded").done(*GONE).end(),
    lambda: (
        Story(OperationKind.TEST, charts=None)
        .emit("pre-test")
        .emit("test")
        .emit("post-test")
        .emit("failed-test")
        .emit("failed-test", version=2)
        .end(State.FAILED)
    ),
    lambda: Story(OperationKind.PLAN, charts=None).end(),
    lambda: Story(OperationKind.TEST, charts=None).done(*TESTED).end(),
]


@pytest.mark.parametrize("story", GOOD)
def test_a_life_in_its_order_is_acquitted(story: Callable[[], Story]) -> None:
    assert story().rules() == set()


BAD: list[tuple[str, Callable[[], Story]]] = [
    ("H1", lambda: Story().emit("render").emit("pre-render")),
    ("H1", lambda: Story().emit("read-chart").emit("pre-upgrade")),
    ("H1", lambda: Story().emit("chart-loaded").emit("chart-loaded", INNER)),
    ("H1", lambda: Story().emit("pre-render").emit("chart-loaded", INNER)),
    ("H1", lambda: Story().prepare("post-validate").begin(HEAD[0]).emit("post-validate")),
    ("H1", lambda: installing().emit("install").emit("pre-install")),
    ("H1", lambda: installing().emit("post-install", INNER).emit("pre-install", INNER)),
    ("H1", lambda: Story(OperationKind.ROLLBACK).emit("read-chart").emit("render")),
    ("H1", lambda: Story(OperationKind.PLAN).prepare().emit("pre-install")),
    ("H2", lambda: installing().emit("read-chart")),
    ("H2", lambda: installing().begin(HEAD[0]).emit("read-chart", version=2)),
    ("H2", lambda: installing().done(HEAD[0]).emit("pre-install", version=2)),
    ("H2", lambda: installing().emit("pre-install", version=2)),
    ("H3", lambda: installing().begin(HOOK)),
    ("H3", lambda: installing().move(HEAD[0], NodeState.READY).begin(HOOK)),
    ("H3", lambda: installing().done(HEAD[0]).begin("top:r")),
    ("H3", lambda: installing().done(HEAD[0]).begin(HOOK).begin(f"{INNER}/pre-install")),
    ("H3", lambda: installing().begin("top:r").begin(HEAD[0])),
    ("H3", lambda: installing().done(*HEAD).begin(f"{INNER}:r")),
    ("H3", lambda: installing().done(*HEAD, INSIDE[0]).begin(INSIDE[1]).begin(INSIDE[2])),
    ("H3", lambda: installing().done(*HEAD, *INSIDE[:3]).begin(TAIL[0])),
    ("H3", lambda: installing().done(*but("top:r", *TAIL, "top")).begin(TAIL[0])),
    ("H3", lambda: installing().done(*but(*TAIL, "top")).begin(TAIL[1])),
    ("H3", lambda: installing().done(*but("top:r", *TAIL, "top")).begin(TAIL[2])),
    ("H3", lambda: Story(OperationKind.UNINSTALL, charts=None).begin("top:r")),
    ("H3", lambda: Story(OperationKind.UNINSTALL, charts=None).done(*GONE[:4]).begin(GONE[5])),
    ("H3", lambda: Story(OperationKind.TEST, charts=None).done(TESTED[1])),
    ("H3", lambda: Story(OperationKind.TEST, charts=None).done(TESTED[0]).done(TESTED[5])),
    ("H3", lambda: Story(OperationKind.TEST, charts=None).done(*TESTED[:3]).begin(TESTED[4])),
    ("H4", lambda: installing().done(*but("top/ready")).end()),
    ("H4", lambda: installing().done(*but(f"{INNER}/post-install", LAST_HOOK)).end()),
    ("H4", lambda: installing().emit("pre-install", outcome=Outcome.WARNED)),
    ("H4", lambda: installing().emit("pre-install", outcome=Outcome.FAILED).done(*WALK[1:]).end()),
    ("H4", lambda: installing().emit("pre-install", outcome=Outcome.FAILED).emit("install").end(State.FAILED)),
    ("H4", lambda: Story().emit("pre-render", outcome=Outcome.FAILED).emit("render").end(State.FAILED)),
    ("H4", lambda: Story(OperationKind.UNINSTALL, charts=None).done(*GONE[:5]).end()),
]


@pytest.mark.parametrize(("rule", "story"), BAD)
def test_a_life_out_of_order_is_convicted_by_its_name(rule: str, story: Callable[[], Story]) -> None:
    assert rule in story().rules()


def test_each_rule_has_something_that_breaks_it() -> None:
    assert {*life.RULES} == {rule for rule, _ in BAD}


def test_the_judge_of_all_asks_this_one_too() -> None:
    told = Emission(revision=1, operation_id=ONE, event="render", chart="top", version=2, outcome=Outcome.SUCCEEDED)
    history = History([], [], [], [], emissions=[told], kinds={ONE: OperationKind.INSTALL})
    assert {violation.rule for violation in verdict.judge(history)} == {"H2"}


@pytest.mark.parametrize(
    ("culprit", "is_before"), [("top/pre-render", True), ("top/pre-install", False), ("top:r", False), ("", False)]
)
def test_what_fails_before_there_is_a_plan_is_told_by_its_event(culprit: str, is_before: bool) -> None:
    assert life.is_prepared(culprit) is is_before
