"""The judge of releases convicts charts that come, or go, in another order than they were made for."""

import dataclasses
from collections.abc import Callable

import pytest

from support.release_history import order
from support.release_history.record import OWN, Charts, Event, Node, Plan
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import NodeState, NodeTask, Wait

FIRST, SECOND, THIRD = "first", "second", "third"
# Of `a` and `b` one waits for the other, so does the chart itself for `b`, and nobody for `free`.
ORDERED = Charts(
    Wait.ORDERED,
    {"top": ("a", "b", "c", "free"), "top.a": (), "top.b": ("in",), "top.b.in": (), "top.c": (), "top.free": ()},
    {"top": {("a", "b"), ("c", OWN), ("b", OWN)}},
)
EAGER = dataclasses.replace(ORDERED, wait=Wait.EAGER)
NONE = dataclasses.replace(ORDERED, wait=Wait.NONE)
A, B, C, IN, FREE, TOP = "top.a:r", "top.b:r", "top.c:r", "top.b.in:r", "top.free:r", "top:r"


class Story:
    """Writes events of nodes: `first` installs charts and resources, and `second` and `third` remove resources."""

    def __init__(self, charts: Charts, *paths: str) -> None:
        self.events: list[Event] = []
        self._plans = [Plan(FIRST, "shop", frozenset({State.SUCCEEDED}), charts=charts)]
        self._nodes = [_node(FIRST, path, NodeTask.INSTALL) for path in paths]

    def moved(self, path: str, state: NodeState, operation: str = FIRST) -> "Story":
        """A node moves."""
        revision = len(self.events) + 1
        event = Event(
            revision=revision,
            at=float(revision),
            resource_type=ResourceType.NODE,
            resource_id=f"{operation}-{path}",
            release_id="release",
            event_type=EventType.UPDATED,
            version=revision,
            state=str(state),
            operation_id=operation,
            path=path,
        )
        self.events.append(event)
        return self

    def begin(self, *paths: str) -> "Story":
        """Nodes begin to be installed, one after the other."""
        for path in paths:
            self.moved(path, NodeState.INSTALLING)
        return self

    def end(self, *paths: str, state: NodeState = NodeState.READY) -> "Story":
        """Nodes end, one after the other."""
        for path in paths:
            self.moved(path, state)
        return self

    def install(self, *paths: str) -> "Story":
        """Nodes begin and end, one after the other."""
        for path in paths:
            self.begin(path).end(path)
        return self

    def remove(self, *paths: str, operation: str = SECOND) -> "Story":
        """An operation removes nodes, one after the other."""
        self._nodes += [_node(operation, path, NodeTask.REMOVE) for path in paths]
        for path in paths:
            self.moved(path, NodeState.REMOVING, operation).moved(path, NodeState.REMOVED, operation)
        return self

    def rules(self) -> list[str]:
        """The rules that are broken."""
        return [violation.rule for violation in order.check(self.events, self._nodes, self._plans)]

    def change(self, *paths: str) -> "Story":
        """The second operation installs some of it again."""
        self._plans.append(dataclasses.replace(self._plans[0], operation_id=SECOND))
        self._nodes += [_node(SECOND, path, NodeTask.INSTALL) for path in paths]
        for path in paths:
            self.moved(path, NodeState.INSTALLING, SECOND).moved(path, NodeState.READY, SECOND)
        return self


def _node(operation: str, path: str, task: NodeTask) -> Node:
    return Node(id=f"{operation}-{path}", operation_id=operation, path=path, task=task, state=NodeState.PENDING)


ALL = (A, B, C, IN, FREE, TOP)
GOOD: list[Callable[[], Story]] = [
    lambda: Story(ORDERED, *ALL).begin(A, C).end(A, C).begin(IN, B).end(B, IN).begin(FREE, TOP).end(FREE, TOP),
    # Who waits for nothing in particular may come at any time.
    lambda: Story(EAGER, *ALL).begin(A, C, FREE).end(A).begin(B, IN).end(B, IN, C).begin(TOP).end(TOP, FREE),
    lambda: Story(NONE, *ALL).begin(*reversed(ALL)).end(*ALL),
    # A batch may begin after one that has not ended well, but for what an edge leads to.
    lambda: Story(ORDERED, C, FREE, B).begin(C).end(C, state=NodeState.FAILED).install(B, FREE),
    lambda: Story(ORDERED, *ALL).install(A, C, B, IN, FREE, TOP).remove(FREE, TOP, B, IN, A, C),
    lambda: Story(EAGER, *ALL).install(*ALL).remove(TOP, B, IN, A, FREE, C),
    lambda: Story(NONE, *ALL).install(*ALL).remove(*ALL),
    # Charts begin before what is in them, and end after it.
    lambda: (
        Story(ORDERED, "top.b", "top.b.in", IN, B).begin("top.b", B, "top.b.in", IN).end(IN, "top.b.in", B, "top.b")
    ),
]


@pytest.mark.parametrize("story", GOOD)
def test_charts_that_keep_their_order_are_acquitted(story: Callable[[], Story]) -> None:
    assert story().rules() == []


BAD: list[tuple[str, Callable[[], Story]]] = [
    ("C1", lambda: Story(ORDERED, *ALL).begin(A, B)),
    ("C1", lambda: Story(EAGER, *ALL).begin(A, IN)),
    ("C1", lambda: Story(EAGER, A, B).begin(A).end(A, state=NodeState.FAILED).begin(B)),
    # By way of a chart in which there is nothing.
    ("C1", lambda: Story(EAGER, A, TOP).begin(A, TOP)),
    ("C1", lambda: Story(EAGER, C, TOP).begin(C, TOP)),
    ("C1", lambda: Story(ORDERED, "top.a", "top.b").begin("top.a", "top.b")),
    ("C2", lambda: Story(ORDERED, B, C).begin(C, B)),
    ("C2", lambda: Story(ORDERED, A, FREE).begin(A, FREE)),
    ("C2", lambda: Story(dataclasses.replace(EAGER, edges={"top": {("a", "b")}}), B, TOP).begin(B, TOP)),
    ("C3", lambda: Story(ORDERED, "top.a", A).begin(A)),
    ("C3", lambda: Story(ORDERED, "top.b", IN, B).begin("top.b", IN, B).end(B, "top.b")),
    ("C3", lambda: Story(ORDERED, "top.b", IN).begin("top.b", IN).end("top.b", state=NodeState.FAILED)),
    ("C4", lambda: Story(ORDERED, A, B).install(A, B).remove(A, B)),
    ("C4", lambda: Story(ORDERED, C, B).install(C, B).remove(C, B)),
    ("C4", lambda: Story(ORDERED, A, FREE).install(A, FREE).remove(A, FREE)),
    ("C4", lambda: Story(EAGER, A, TOP).install(A, TOP).remove(A, TOP)),
    ("C4", lambda: Story(ORDERED, A, IN).install(A, IN).remove("top.a", A, IN)),
    ("C3", lambda: Story(ORDERED, A).install(A).remove(A, "top.a")),
]


@pytest.mark.parametrize(("rule", "story"), BAD)
def test_whatever_breaks_the_order_of_charts_is_convicted_by_its_name(rule: str, story: Callable[[], Story]) -> None:
    assert rule in story().rules()


def test_each_rule_has_something_that_breaks_it() -> None:
    assert {*order.RULES} == {rule for rule, _ in BAD}


def test_what_different_operations_have_installed_may_go_in_any_order() -> None:
    def installed() -> Story:
        return Story(ORDERED, A, B).install(A, B)

    assert installed().remove(A, B, operation=THIRD).rules() == ["C4"]
    assert installed().change(B).remove(A, B, operation=THIRD).rules() == []
    assert installed().change(A, B).remove(A, B, operation=THIRD).rules() == ["C4"]
