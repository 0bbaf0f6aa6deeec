"""The judge of recorded releases acquits a good run, and convicts each kind of broken promise by its name."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from support.history.record import Violation
from support.release_history import life, order, verdict
from support.release_history.record import Answer, Effect, Event, History, Hold, Mark, Node, Plan, Step
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import NodeState, NodeTask, ReleaseState, StepKind
from tinkwell.core.release.report import STEP_LOST

FIRST, SECOND = "first", "second"
HERE, THERE = "here", "there"
SUCCEEDED, FAILED = frozenset({State.SUCCEEDED}), frozenset({State.FAILED})
_STEPS = {State.RUNNING: EventType.STEP_STARTED, State.PENDING: EventType.STEP_RETRYING}


class Story:
    """Writes a history step by step, as a run would that keeps every promise, as long as it is told nothing else.

    It is about a release of two resources, `a` and `b`, of which `b` comes after `a`. The operation `first` installs
    them, and `second` removes them in reverse order.
    """

    def __init__(self, **meant: Any) -> None:
        self.events: list[Event] = []
        self.effects: list[Effect] = []
        self.holds: list[Hold] = []
        self.nodes: dict[tuple[str, str], Node] = {}
        self.plans: dict[str, Plan] = {}
        self.more: dict[str, Any] = {}
        self._meant = meant
        self._last: dict[str, Event] = {}

    def begin(self, operation: str = FIRST, *, release: str = "shop") -> "Story":
        """An operation is asked for, and taken."""
        self.plans[operation] = dataclasses.replace(Plan(operation, release, SUCCEEDED), **self._meant)
        is_first = operation == FIRST
        paths, task = ("ab", NodeTask.INSTALL) if is_first else ("ba", NodeTask.REMOVE)
        for path, after in ((paths[0], ()), (paths[1], (paths[0],))):
            state = NodeState.PENDING
            self.nodes[operation, path] = Node(
                id=f"{operation}-{path}", operation_id=operation, path=path, task=task, state=state, after=after
            )
        self.operation(EventType.CREATED, State.PENDING, operation)
        if is_first:
            self.release(EventType.CREATED, ReleaseState.PENDING_INSTALL)
        else:
            self.release(EventType.UPDATED, ReleaseState.UNINSTALLING)
        return self.take(HERE, operation).operation(EventType.OPERATION_STARTED, State.RUNNING, operation)

    def take(self, engine: str, operation: str = FIRST) -> "Story":
        """Somebody takes an operation."""
        self.holds.append(Hold(operation, engine, float(self._tick())))
        return self

    def operation(self, kind: EventType, state: State, operation: str = FIRST, **more: Any) -> "Story":
        """An event of an operation."""
        return self._add(ResourceType.OPERATION, operation, kind, state, **more)

    def release(self, kind: EventType, state: ReleaseState, operation: str = FIRST, **more: Any) -> "Story":
        """An event of the release."""
        return self._add(ResourceType.RELEASE, "release", kind, state, operation_id=operation, **more)

    def node(self, state: NodeState, path: str = "a", operation: str = FIRST, **more: Any) -> "Story":
        """An event of a node, as which it is stored."""
        is_begun = state in (NodeState.INSTALLING, NodeState.REMOVING)
        kind = more.pop("kind", EventType.NODE_STARTED if is_begun else EventType[f"NODE_{state}"])
        node = self.nodes[operation, path]
        self.nodes[operation, path] = dataclasses.replace(node, state=state, message=more.get("message", ""))
        return self._add(
            ResourceType.NODE, node.id, kind, state, operation_id=operation, path=path, task=node.task, **more
        )

    def step(self, state: State, ordinal: int = 1, path: str = "a", operation: str = FIRST, **more: Any) -> "Story":
        """An event of an action or a removal, as which it is stored."""
        node = self.nodes[operation, path]
        kind = StepKind.ACTION if node.task is NodeTask.INSTALL else StepKind.DESTROY
        id_ = f"{node.id}-{ordinal}"
        before = self._last.get(id_)
        attempt = (before.attempt if before else 0) + (state is State.RUNNING)
        self.store(kind, state, ordinal, path, operation, message=more.get("message", ""))
        return self._add(
            ResourceType.STEP,
            id_,
            _STEPS.get(state) or EventType[f"STEP_{state}"],
            state,
            **{"operation_id": operation, "path": path, "kind": kind, "attempt": attempt, **more},
        )

    def store(
        self,
        kind: StepKind,
        state: State = State.SUCCEEDED,
        ordinal: int = 1,
        path: str = "a",
        operation: str = FIRST,
        *,
        message: str = "",
    ) -> "Story":
        """A step as it is stored, which need not have an event."""
        node = self.nodes[operation, path]
        step = Step(id=f"{node.id}-{ordinal}", ordinal=ordinal, kind=kind, state=state, message=message)
        steps = (*node.steps[: ordinal - 1], step, *node.steps[ordinal:])
        self.nodes[operation, path] = dataclasses.replace(node, steps=steps)
        return self

    def mark(self, mark: Mark, ordinal: int = 1, path: str = "a", operation: str = FIRST, **more: Any) -> "Story":
        """A line of a call's script."""
        step_id = f"{self.nodes[operation, path].id}-{ordinal}"
        before = self._last.get(step_id)
        exit_code = 0 if mark is Mark.END else None
        effect = Effect(
            mark,
            "shop",
            path,
            operation,
            step_id,
            before.attempt if before else 1,
            "act",
            HERE,
            float(self._tick()),
            exit_code,
        )
        self.effects.append(dataclasses.replace(effect, **more))
        return self

    def act(self, ordinal: int = 1, path: str = "a", operation: str = FIRST, **more: Any) -> "Story":
        """An action begins, and its script."""
        return self.step(State.RUNNING, ordinal, path, operation).mark(Mark.BEGIN, ordinal, path, operation, **more)

    def acted(self, ordinal: int = 1, path: str = "a", operation: str = FIRST) -> "Story":
        """An action that runs ends well."""
        return self.mark(Mark.END, ordinal, path, operation).step(State.SUCCEEDED, ordinal, path, operation)

    def install(self, path: str = "a") -> "Story":
        """A resource is installed by one action."""
        return self.node(NodeState.INSTALLING, path).act(1, path).acted(1, path).node(NodeState.READY, path)

    def remove(self, path: str = "a") -> "Story":
        """A resource is removed."""
        self.node(NodeState.REMOVING, path, SECOND).act(1, path, SECOND).acted(1, path, SECOND)
        return self.node(NodeState.REMOVED, path, SECOND)

    def succeed(self, operation: str = FIRST) -> "Story":
        """An operation has succeeded."""
        self.operation(EventType.OPERATION_SUCCEEDED, State.SUCCEEDED, operation)
        if operation == FIRST:
            return self.release(EventType.RELEASE_DEPLOYED, ReleaseState.DEPLOYED)
        self.release(EventType.RELEASE_UNINSTALLED, ReleaseState.UNINSTALLED, SECOND)
        return self.release(EventType.DELETED, ReleaseState.UNINSTALLED, SECOND)

    def fail(self, reason: str = "NODE_FAILED", culprit: str = "a") -> "Story":
        """The installation has failed at a node."""
        self.operation(EventType.OPERATION_FAILED, State.FAILED, reason=reason, culprit=culprit)
        return self.release(EventType.RELEASE_FAILED, ReleaseState.FAILED)

    def installed(self) -> "Story":
        """A whole installation."""
        return self.begin().install("a").install("b").succeed()

    def lose(self, engine: str = THERE) -> "Story":
        """The action of `a` runs, and is lost when somebody on another engine takes the operation."""
        self.begin().node(NodeState.INSTALLING).act().take(engine)
        return self.step(State.FAILED, message=f"{STEP_LOST}: its owner is dead")

    def find(self, answer: Answer, **more: Any) -> "Story":
        """The new owner of an operation asks for the state of `a`."""
        return self.store(StepKind.STATE, ordinal=2).mark(
            Mark.SAID, 2, **{"engine": THERE, "said": str(answer), **more}
        )

    def failed(self, message: str = "", **more: Any) -> "Story":
        """`a` has failed, and `b` is skipped."""
        self.node(NodeState.FAILED, message=message)
        return self.node(NodeState.SKIPPED, "b").fail(**more)

    def failed_as_lost(self) -> "Story":
        """The same since an action was lost."""
        return self.failed(f"{STEP_LOST}: the resource is STALE", reason="STEP_LOST")

    def untold(self, state: NodeState, path: str = "a", operation: str = FIRST) -> "Story":
        """A node is stored in a state of which no event tells."""
        self.nodes[operation, path] = dataclasses.replace(self.nodes[operation, path], state=state)
        return self

    def hold(self, wanted: str, found: str) -> "Story":
        """`a` is to hold something in the end, and holds something."""
        self.more = {"wanted": {"shop": {"a": wanted}}, "found": {"shop": {"a": found}}}
        return self

    def violations(self, *leftovers: str) -> list[Violation]:
        """What the judge finds."""
        history = History(
            list(self.plans.values()),
            self.events,
            list(self.nodes.values()),
            self.effects,
            self.holds,
            leftovers=leftovers,
            **self.more,
        )
        return verdict.judge(history)

    def rules(self, *leftovers: str) -> set[str]:
        """The rules that were broken."""
        return {violation.rule for violation in self.violations(*leftovers)}

    def _add(self, of: ResourceType, id_: str, event_type: EventType, state: str, **more: Any) -> "Story":
        before = self._last.get(id_)
        made = Event(
            revision=self._tick(),
            at=float(len(self.events) + len(self.effects) + 1),
            resource_type=of,
            resource_id=id_,
            release_id="release",
            event_type=event_type,
            version=before.version + 1 if before else 1,
            state=str(state),
        )
        made = dataclasses.replace(made, **more)
        self._last[id_] = made
        self.events.append(made)
        return self

    def _tick(self) -> int:
        return len(self.events) + len(self.effects) + 1


def acting() -> Story:
    """The action of `a` runs."""
    return Story().begin().node(NodeState.INSTALLING).act()


def started() -> Story:
    """The action of `a` was reported, and its script has not begun."""
    return Story().begin().node(NodeState.INSTALLING).step(State.RUNNING)


GOOD: list[Callable[[], Story]] = [
    lambda: Story().installed(),
    lambda: Story().installed().begin(SECOND).remove("b").remove("a").succeed(SECOND),
    lambda: Story().installed().hold("text", "text"),
    # A run that is killed writes no end, and the next attempt may begin.
    lambda: acting().step(State.PENDING, exit_code=137).act().acted().node(NodeState.READY, "a").install("b").succeed(),
    # What never ran is cancelled, and another round begins.
    lambda: (
        Story()
        .begin()
        .node(NodeState.INSTALLING)
        .step(State.RUNNING)
        .step(State.CANCELLED)
        .act(2)
        .acted(2)
        .node(NodeState.READY)
        .install("b")
        .succeed()
    ),
    lambda: Story(ends=FAILED, culprit="a").begin().node(NodeState.INSTALLING).failed(),
    lambda: (
        Story(ends=FAILED, culprit="top/pre-render")
        .begin()
        .node(NodeState.SKIPPED)
        .node(NodeState.SKIPPED, "b")
        .fail(reason="PREPARATION_FAILED", culprit="")
    ),
    lambda: Story().lose().find(Answer.STALE).failed_as_lost(),
    lambda: Story().lose().find(Answer.VALID).node(NodeState.READY).install("b").succeed(),
    # What was given up goes on elsewhere, and nobody can help it.
    lambda: (
        Story()
        .lose()
        .find(Answer.VALID)
        .node(NodeState.READY)
        .install("b")
        .succeed()
        .begin(SECOND)
        .remove("b")
        .node(NodeState.REMOVING, "a", SECOND)
        .act(1, "a", SECOND, engine=THERE)
        .mark(Mark.SAME_RESOURCE, 1, "a", SECOND, engine=THERE, said="first-a-1.1")
        .acted(1, "a", SECOND)
        .node(NodeState.REMOVED, "a", SECOND)
        .succeed(SECOND)
    ),
]


@pytest.mark.parametrize("story", GOOD)
def test_a_run_that_keeps_its_promises_is_acquitted(story: Callable[[], Story]) -> None:
    assert story().violations() == []


BAD: list[tuple[str, Callable[[], Story]]] = [
    ("L1", lambda: Story().installed().release(EventType.RELEASE_FAILED, ReleaseState.FAILED)),
    ("L1", lambda: Story().installed().operation(EventType.OPERATION_STARTED, State.RUNNING)),
    ("L1", lambda: Story().begin().node(NodeState.READY)),
    ("L1", lambda: Story().begin().node(NodeState.INSTALLING, kind=EventType.UPDATED)),
    ("L1", lambda: acting().acted().step(State.FAILED)),
    (
        "L1",
        lambda: (
            Story()
            .begin()
            .release(EventType.UPDATED, ReleaseState.DEPLOYED)
            .release(EventType.UPDATED, ReleaseState.FAILED)
        ),
    ),
    ("L2", lambda: Story().begin().node(NodeState.INSTALLING).node(NodeState.READY, version=1)),
    ("L3", lambda: Story().begin().begin(SECOND)),
    ("L3", lambda: Story().begin().install("a").succeed()),
    ("L3", lambda: Story().installed().node(NodeState.FAILED)),
    ("L3", lambda: Story().begin().release(EventType.RELEASE_DEPLOYED, ReleaseState.DEPLOYED)),
    ("L3", lambda: Story().begin().operation(EventType.OPERATION_FAILED, State.FAILED)),
    ("L4", lambda: Story().begin().install("b")),
    ("L4", lambda: Story().begin().act()),
    ("L4", lambda: acting().act(2)),
    ("L4", lambda: acting().node(NodeState.READY)),
    ("T1", lambda: Story().begin().node(NodeState.INSTALLING).step(State.RUNNING, attempt=2)),
    ("T1", lambda: acting().mark(Mark.END).step(State.SUCCEEDED, attempt=2)),
    ("T2", lambda: acting().mark(Mark.BEGIN)),
    ("T2", lambda: Story().begin().node(NodeState.INSTALLING).mark(Mark.BEGIN)),
    ("T2", lambda: Story().begin().node(NodeState.INSTALLING).mark(Mark.BEGIN).step(State.RUNNING)),
    ("T2", lambda: started().step(State.CANCELLED).mark(Mark.BEGIN)),
    ("T2", lambda: started().mark(Mark.BEGIN, path="b", step_id="first-a-1")),
    ("T3", lambda: started().step(State.SUCCEEDED)),
    ("T3", lambda: acting().step(State.SUCCEEDED)),
    ("T3", lambda: acting().mark(Mark.END, exit_code=1).step(State.SUCCEEDED)),
    ("T3", lambda: acting().mark(Mark.END, exit_code=2).step(State.FAILED, exit_code=1)),
    ("E1", lambda: acting().mark(Mark.SAME_RESOURCE)),
    ("E1", lambda: acting().mark(Mark.SAME_RESOURCE, 2, engine=THERE, said="first-a-1.1")),
    ("E1", lambda: Story().lose().act(2).mark(Mark.SAME_RESOURCE, 2, said="first-a-1.1")),
    ("E1", lambda: acting().step(State.CANCELLED).act(2).mark(Mark.END)),
    ("E2", lambda: Story().begin().install("a").mark(Mark.BEGIN, 2)),
    ("X1", lambda: Story().begin().node(NodeState.INSTALLING).failed_as_lost()),
    ("X1", lambda: Story().lose().failed_as_lost()),
    ("X1", lambda: Story().lose().find(Answer.VALID).failed_as_lost()),
    ("X1", lambda: Story().lose().find(Answer.STALE).node(NodeState.READY)),
    ("X1", lambda: Story().lose(HERE).find(Answer.STALE).failed_as_lost()),
    ("O1", acting),
    ("O2", lambda: Story(ends=FAILED, culprit="a").installed()),
    ("O2", lambda: Story().begin().node(NodeState.INSTALLING).failed()),
    ("O2", lambda: Story(ends=FAILED, culprit="b").begin().node(NodeState.INSTALLING).failed()),
    ("O2", lambda: Story().installed().hold("text", "another")),
    ("O2", lambda: Story(ends=FAILED, culprit="top/pre-render").begin().node(NodeState.INSTALLING).failed()),
    ("O4", lambda: Story().installed().untold(NodeState.FAILED)),
]


@pytest.mark.parametrize(("rule", "story"), BAD)
def test_whatever_breaks_a_promise_is_convicted_by_its_name(rule: str, story: Callable[[], Story]) -> None:
    assert rule in story().rules()


def test_each_rule_has_something_that_breaks_it() -> None:
    documented = {line.split()[0] for line in (verdict.__doc__ or "").splitlines()[2:] if line.strip()}
    # Those of charts and their lives have tests of their own.
    assert documented == {rule for rule, _ in BAD} | {"O3", *order.RULES, *life.RULES}


def test_what_is_left_behind_is_a_violation() -> None:
    assert Story().installed().rules("a run is kept") == {"O3"}


def test_an_operation_without_events_and_one_that_nobody_meant_are_violations() -> None:
    unheard, unmeant = Story().installed(), Story().installed()
    unheard.plans[SECOND] = Plan(SECOND, "shop", SUCCEEDED)
    unmeant.plans.clear()
    assert unheard.rules() == {"O1"}
    assert unmeant.rules() == {"O2"}


def test_an_operation_that_accepts_a_loss_goes_on_where_the_resource_is_stale() -> None:
    story = Story().lose().find(Answer.STALE).node(NodeState.READY).install("b").succeed()
    assert story.rules() == {"X1"}
    story.more = {"accepting": frozenset({FIRST})}
    assert story.rules() == set()
