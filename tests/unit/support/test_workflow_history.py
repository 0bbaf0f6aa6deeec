"""The judge of recorded workflows acquits a good run, and convicts each kind of broken promise by its name."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support.workflow_history import verdict
from support.workflow_history.record import Effect, Event, History, Mark, Plan, Status
from tinkwell.core.event.kinds import EventType, ResourceType, State

FLOW, OTHER = "w", "v"
MACHINE, SECOND = "m", "n"
SUCCEEDED = frozenset({State.SUCCEEDED})

_KINDS = {
    State.RUNNING: EventType.ACTION_STARTED,
    State.PENDING: EventType.ACTION_RETRYING,
    State.SUCCEEDED: EventType.ACTION_SUCCEEDED,
    State.FAILED: EventType.ACTION_FAILED,
    State.TIMEOUT: EventType.ACTION_TIMEOUT,
    State.CANCELLED: EventType.ACTION_CANCELLED,
}


class Story:
    """Writes a history step by step, as a run would that keeps every promise, as long as it is told nothing else."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.statuses: list[Status] = []
        self.effects: list[Effect] = []
        self.plans: list[Plan] = []
        self._clock = 0.0
        self._last: dict[str, Event] = {}

    def create(self, flow: str = FLOW, *, workers: Sequence[str] = (MACHINE, SECOND), **meant: object) -> "Story":
        """A workflow and its actions, called `w0`, `w1` and so on."""
        self.plans.append(dataclasses.replace(Plan(flow, tuple(workers), SUCCEEDED), **meant))  # type: ignore[arg-type]
        self._add(ResourceType.WORKFLOW, flow, "", EventType.CREATED, State.PENDING, total=len(workers))
        for index, worker in enumerate(workers):
            self._add(
                ResourceType.ACTION,
                f"{flow}{index}",
                flow,
                EventType.CREATED,
                State.PENDING,
                index=index,
                worker_id=worker,
            )
        return self

    def flow(self, kind: EventType, state: State, flow: str = FLOW, **more: object) -> "Story":
        """An event of a workflow."""
        self._add(ResourceType.WORKFLOW, flow, "", kind, state, **more)
        return self

    def action(self, state: State, index: int = 0, flow: str = FLOW, **more: object) -> "Story":
        """An event of an action, without anything else."""
        attempt = self._last[f"{flow}{index}"].attempt + (state is State.RUNNING)
        self._add(ResourceType.ACTION, f"{flow}{index}", flow, _KINDS[state], state, **{"attempt": attempt, **more})
        return self

    def report(self, state: State, index: int = 0, flow: str = FLOW, **more: object) -> "Story":
        """An event of an action that was reported, and the journal's entry."""
        exit_code = more.pop("exit_code", 0 if state is State.SUCCEEDED else None)
        self.action(state, index, flow, **more)
        return self.status(state, index, flow, exit_code=exit_code)

    def status(self, state: State, index: int = 0, flow: str = FLOW, **more: object) -> "Story":
        """An entry of the journal, without anything else."""
        known = self._last[f"{flow}{index}"]
        status = Status(flow, known.resource_id, known.worker_id, state, known.attempt, None, self._tick())
        self.statuses.append(dataclasses.replace(status, **more))  # type: ignore[arg-type]
        return self

    def mark(self, mark: Mark, index: int = 0, flow: str = FLOW, **more: object) -> "Story":
        """A line of an action's script."""
        known = self._last[f"{flow}{index}"]
        exit_code = 0 if mark is Mark.END else None
        effect = Effect(mark, flow, known.resource_id, known.attempt, known.worker_id, self._tick(), exit_code)
        self.effects.append(dataclasses.replace(effect, **more))  # type: ignore[arg-type]
        return self

    def begin(self, index: int = 0, flow: str = FLOW) -> "Story":
        """An action starts, and its script."""
        return self.report(State.RUNNING, index, flow).mark(Mark.BEGIN, index, flow)

    def succeed(self, index: int = 0, flow: str = FLOW) -> "Story":
        """An action that runs ends well."""
        return self.mark(Mark.END, index, flow).report(State.SUCCEEDED, index, flow)

    def start(self, flow: str = FLOW) -> "Story":
        """The workflow starts."""
        return self.flow(EventType.WORKFLOW_STARTED, State.RUNNING, flow)

    def advance(self, completed: int = 1, flow: str = FLOW) -> "Story":
        """An action has succeeded, and another one remains."""
        return self.flow(EventType.WORKFLOW_INPROGRESS, State.RUNNING, flow, completed=completed)

    def finish(self, completed: int = 2, flow: str = FLOW) -> "Story":
        """The workflow has succeeded."""
        return self.flow(EventType.WORKFLOW_SUCCEEDED, State.SUCCEEDED, flow, completed=completed)

    def whole(self, flow: str = FLOW, **more: Any) -> "Story":
        """A workflow of two actions from its creation to its success."""
        self.create(flow, **more).start(flow).begin(0, flow).succeed(0, flow)
        return self.advance(1, flow).begin(1, flow).succeed(1, flow).finish(2, flow)

    def lose(self, index: int = 0) -> "Story":
        """An attempt ends as FAILED, and another one is to follow."""
        return self.action(State.PENDING, index).status(State.FAILED, index)

    def forget(self, *indexes: int, flow: str = FLOW) -> "Story":
        """The workflow is deleted, and then these actions, in the states in which they are."""
        self.flow(EventType.DELETED, self._last[flow].state, flow)
        return self.forget_actions(*indexes, flow=flow)

    def forget_actions(self, *indexes: int, flow: str = FLOW) -> "Story":
        """These actions are deleted alone."""
        for index in indexes:
            id_ = f"{flow}{index}"
            self._add(ResourceType.ACTION, id_, flow, EventType.DELETED, self._last[id_].state)
        return self

    def rules(self, *leftovers: str) -> set[str]:
        """The rules that were broken."""
        history = History(self.plans, self.events, self.statuses, self.effects, leftovers)
        return {violation.rule for violation in verdict.judge(history)}

    def _add(
        self, kind: ResourceType, id_: str, parent: str, event_type: EventType, state: State, **more: object
    ) -> None:
        before = self._last.get(id_)
        made = Event(
            revision=len(self.events) + 1,
            resource_type=kind,
            resource_id=id_,
            parent_id=parent,
            event_type=event_type,
            version=before.version + 1 if before else 1,
            state=state,
            index=before.index if before else 0,
            worker_id=before.worker_id if before else "",
            attempt=before.attempt if before else 0,
            completed=before.completed if before else 0,
            total=before.total if before else 0,
        )
        made = dataclasses.replace(made, **more)  # type: ignore[arg-type]
        self._last[id_] = made
        self.events.append(made)

    def _tick(self) -> float:
        self._clock += 1
        return self._clock


def fail(story: Story, state: State = State.FAILED) -> Story:
    """Let the first action, which runs, end its workflow."""
    kind = EventType.WORKFLOW_FAILED if state is State.FAILED else EventType.WORKFLOW_TIMEOUT
    story.report(state).action(State.CANCELLED, 1)
    return story.flow(kind, state, blamed="w0")


GOOD: list[Callable[[], Story]] = [
    lambda: Story().whole(),
    lambda: Story().whole().whole(OTHER),
    lambda: Story().whole().forget(0, 1).whole(OTHER),
    lambda: fail(Story().create(ends=frozenset({State.FAILED}), culprit=0).start().begin()).forget(1, 0),
    # A run that is killed writes no end, and the next attempt may begin.
    lambda: Story().create().start().begin().lose().begin().succeed().advance().begin(1).succeed(1).finish(),
    # A run is lost before its script begins.
    lambda: (
        Story().create().start().report(State.RUNNING).lose().begin().succeed().advance().begin(1).succeed(1).finish()
    ),
    # One that could not be watched ends well, and is repeated all the same.
    lambda: (
        Story().create().start().begin().mark(Mark.END).lose().begin().succeed().advance().begin(1).succeed(1).finish()
    ),
    lambda: fail(Story().create(ends=frozenset({State.FAILED}), culprit=0).start().begin()),
    lambda: fail(Story().create(ends=frozenset({State.FAILED}), culprit=0).start().begin().mark(Mark.END, exit_code=1)),
    lambda: fail(Story().create(ends=frozenset({State.TIMEOUT}), culprit=0).start().begin(), State.TIMEOUT),
    lambda: (
        Story()
        .create(ends=frozenset({State.CANCELLED}))
        .action(State.CANCELLED)
        .action(State.CANCELLED, 1)
        .flow(EventType.WORKFLOW_CANCELLED, State.CANCELLED)
    ),
]


@pytest.mark.parametrize("story", GOOD)
def test_a_run_that_keeps_its_promises_is_acquitted(story: Callable[[], Story]) -> None:
    assert story().rules() == set()


BAD: list[tuple[str, Callable[[], Story]]] = [
    ("L1", lambda: Story().whole().action(State.CANCELLED)),
    ("L1", lambda: Story().whole().flow(EventType.WORKFLOW_FAILED, State.FAILED)),
    ("L1", lambda: Story().create().start().start()),
    ("L1", lambda: Story().create().start().flow(EventType.UPDATED, State.RUNNING)),
    ("L1", lambda: Story().create().flow(EventType.WORKFLOW_SUCCEEDED, State.RUNNING)),
    ("L1", lambda: Story().create().start().action(State.SUCCEEDED)),
    ("L1", lambda: Story().create().start().begin().action(State.RUNNING)),
    ("L1", lambda: Story().create().start().action(State.RUNNING, version=9)),
    ("L1", lambda: Story().create().advance(0)),
    ("L2", lambda: Story().create().action(State.RUNNING)),
    ("L2", lambda: Story().create().start().begin(1)),
    ("L2", lambda: Story().create().start().begin().succeed().advance(2)),
    ("L2", lambda: Story().create().start().begin().succeed().finish(1)),
    ("L3", lambda: Story().create().create(OTHER).start().start(OTHER)),
    ("L3", lambda: Story().create(workers=(MACHINE,)).create(OTHER, workers=(SECOND, MACHINE)).start().start(OTHER)),
    ("T1", lambda: Story().create().start().action(State.RUNNING, attempt=2)),
    ("T1", lambda: Story().create().start().begin().action(State.SUCCEEDED, attempt=2)),
    ("T1", lambda: Story().whole().status(State.RUNNING, attempt=3)),
    ("T1", lambda: Story().create().start().begin().status(State.RUNNING, attempt=2)),
    ("T1", lambda: Story().whole().status(State.FAILED)),
    ("T1", lambda: Story().create().start().begin().status(State.FAILED, attempt=7)),
    ("T2", lambda: Story().create().start().begin().mark(Mark.BEGIN)),
    ("T2", lambda: Story().create().start().mark(Mark.BEGIN, attempt=1)),
    ("T2", lambda: Story().create().start().mark(Mark.BEGIN, attempt=1).report(State.RUNNING)),
    ("T2", lambda: Story().create().start().report(State.RUNNING).mark(Mark.BEGIN, worker_id=SECOND)),
    ("T3", lambda: Story().create().start().report(State.RUNNING).report(State.SUCCEEDED)),
    ("T3", lambda: Story().create().start().begin().report(State.SUCCEEDED)),
    ("T3", lambda: Story().create().start().begin().mark(Mark.END, exit_code=1).report(State.SUCCEEDED)),
    ("T3", lambda: Story().create().start().begin().mark(Mark.END).report(State.FAILED, exit_code=1)),
    ("T3", lambda: Story().create().start().begin().report(State.SUCCEEDED).mark(Mark.END)),
    ("E1", lambda: Story().create().start().begin().mark(Mark.SAME_ACTION)),
    ("E1", lambda: Story().create().start().begin().lose().begin().mark(Mark.END, attempt=1)),
    ("E2", lambda: Story().create().start().begin().mark(Mark.SAME_MACHINE)),
    (
        "E2",
        lambda: (
            Story().create(workers=(MACHINE,)).create(OTHER, workers=(MACHINE,)).begin().begin(0, OTHER).mark(Mark.END)
        ),
    ),
    ("E3", lambda: Story().create().start().begin(1)),
    ("E3", lambda: Story().whole().mark(Mark.BEGIN, attempt=2)),
    ("E3", lambda: Story().whole().mark(Mark.BEGIN, action_id="unheard of")),
    ("O1", lambda: Story().create().start().begin()),
    ("O2", lambda: fail(Story().create().start().begin())),
    ("O2", lambda: fail(Story().create(ends=frozenset({State.FAILED}), culprit=1).start().begin())),
    ("O2", lambda: Story().whole(ends=frozenset({State.FAILED}), culprit=1)),
    ("F1", lambda: Story().create().forget(0, 1)),
    ("F1", lambda: Story().create().start().begin().forget(0, 1)),
    ("F1", lambda: Story().whole().forget(0, 1).forget()),
    ("F1", lambda: Story().whole().forget(0, 1, 1)),
    ("F1", lambda: Story().whole().forget_actions(0, 1)),
    ("F1", lambda: Story().whole().forget(0, 1).start()),
    ("F1", lambda: Story().whole().forget(0, 1).action(State.CANCELLED)),
    ("F1", lambda: Story().whole().flow(EventType.DELETED, State.FAILED)),
    ("F1", lambda: Story().whole().forget(0, 1).create()),
    ("F2", lambda: Story().whole().forget()),
    ("F2", lambda: Story().whole().forget(0)),
]


@pytest.mark.parametrize(("rule", "story"), BAD)
def test_whatever_breaks_a_promise_is_convicted_by_its_name(rule: str, story: Callable[[], Story]) -> None:
    assert rule in story().rules()


def test_each_rule_has_something_that_breaks_it() -> None:
    documented = {line.split()[0] for line in (verdict.__doc__ or "").splitlines()[2:] if line.strip()}
    assert documented == {rule for rule, _ in BAD} | {"O3"}


def test_what_is_left_behind_is_a_violation() -> None:
    assert Story().whole().rules("a run is kept") == {"O3"}


def test_a_workflow_without_events_and_one_that_nobody_meant_are_violations() -> None:
    unheard, unmeant = Story().whole(), Story().whole()
    unheard.plans.append(Plan(OTHER, (MACHINE,), SUCCEEDED))
    unmeant.plans.clear()
    assert unheard.rules() == {"O1"}
    assert unmeant.rules() == {"O2"}


def test_a_workflow_that_runs_on_other_machines_than_meant_is_a_violation() -> None:
    story = Story().whole()
    story.plans[0] = dataclasses.replace(story.plans[0], workers=(SECOND, MACHINE))
    assert story.rules() == {"O2"}
