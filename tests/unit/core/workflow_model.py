"""Workflows for the tests of the rules, and a model of them: what a store does with the steps, and what must hold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import change, deadline, lifecycle, transition
from tinkwell.core.workflow.change import (
    Action,
    AdvanceWorkflow,
    Changes,
    EndAction,
    EndWorkflow,
    RetryAction,
    StartAction,
    StartWorkflow,
)
from tinkwell.core.workflow.transition import Report, Workflow

# A report; "cancel"; "expire" after the workflow's deadline, "late" after the running action's, "lost" with its lease.
Event: TypeAlias = "Report | str"
Situation: TypeAlias = tuple[Workflow, Sequence[Action]]
Table: TypeAlias = Mapping[State, frozenset[State]]
T = TypeVar("T", Workflow, Action)

PENDING, RUNNING, SUCCEEDED = State.PENDING, State.RUNNING, State.SUCCEEDED
FAILED, TIMEOUT, CANCELLED = State.FAILED, State.TIMEOUT, State.CANCELLED
FINAL = [state for state in State if state.is_final]
WORKFLOW_TARGETS = lifecycle.targets(lifecycle.WORKFLOW_RULES)
ACTION_TARGETS = lifecycle.targets(lifecycle.ACTION_RULES)


def action(
    index: int, state: State = PENDING, *, attempt: int | None = None, worker: str = "m", **fields: Any
) -> Action:
    started = 0 if state in (PENDING, CANCELLED) else 1
    return Action(
        id=f"a{index}",
        index=index,
        task_name="t",
        name=f"n{index}",
        worker_id=worker,
        state=state,
        attempt=started if attempt is None else attempt,
        **fields,
    )


def actions(*states: State) -> list[Action]:
    return [action(index, state) for index, state in enumerate(states)]


def workflow(state: State = RUNNING, *, remaining: float | None = None) -> Workflow:
    return Workflow(id="w", state=state, remaining_seconds=remaining)


def heard(index: int, state: State, **fields: Any) -> Report:
    return Report(**{"action_id": f"a{index}", "worker_id": "m", "state": state, **fields})


def cause(changes: Changes) -> change.Cause:
    last = changes.steps[-1]
    assert isinstance(last, EndWorkflow)
    assert last.cause is not None
    return last.cause


def report(flow: Workflow, acts: Sequence[Action], told: Report) -> Changes:
    return transition.report(flow, acts, told)


def apply(flow: Workflow, acts: Sequence[Action], changes: Changes) -> Situation:
    for step in changes.steps:
        match step:
            case StartWorkflow():
                flow = moved(WORKFLOW_TARGETS, flow, RUNNING)
            case EndWorkflow():
                flow = moved(WORKFLOW_TARGETS, flow, step.state)
            case StartAction():
                acts = [started(a, step) if a.id == step.action_id else a for a in acts]
            case EndAction():
                acts = [moved(ACTION_TARGETS, a, step.state) if a.id == step.action_id else a for a in acts]
            case RetryAction():
                acts = [moved(ACTION_TARGETS, a, PENDING) if a.id == step.action_id else a for a in acts]
            case AdvanceWorkflow():
                assert flow.state is RUNNING
    return flow, acts


def moved(table: Table, item: T, state: State) -> T:
    assert state in table[item.state]
    return replace(item, state=state)


def started(act: Action, step: StartAction) -> Action:
    return replace(moved(ACTION_TARGETS, act, RUNNING), attempt=step.attempt)


def do(flow: Workflow, acts: Sequence[Action], event: Event) -> Changes:
    match event:
        case "expire":
            return transition.expire(replace(flow, remaining_seconds=-deadline.GRACE_SECONDS), acts)
        case "late":
            return transition.expire(flow, [replace(a, remaining_seconds=-deadline.GRACE_SECONDS) for a in acts])
        case "lost":
            return transition.expire(flow, [replace(a, is_lost=True) for a in acts])
        case str():
            return transition.cancel(flow, acts, "")
        case _:
            return transition.report(flow, acts, event)


def run(
    flow: Workflow, acts: Sequence[Action], sequence: list[Event]
) -> tuple[Workflow, Sequence[Action], list[Event]]:
    """Apply a sequence; return the end and the events that were accepted."""
    accepted: list[Event] = []
    for event in sequence:
        before = (flow, acts)
        try:
            changes = do(flow, acts, event)
        except errors.TinkwellError:
            continue
        flow, acts = apply(flow, acts, changes)
        check(before, (flow, acts), changes)
        check_mover(before, (flow, acts), MOVERS.get(str(event), lifecycle.Mover.WORKER))
        accepted.append(event)
    return flow, acts, accepted


def check(before: Situation, after: Situation, changes: Changes) -> None:
    (old_flow, old_acts), (flow, acts) = before, after
    assert bool(changes.steps) == (before != after)
    pairs: list[tuple[Workflow | Action, Workflow | Action]] = [(old_flow, flow), *zip(old_acts, acts, strict=True)]
    for old, new in pairs:
        assert not old.state.is_final or new == old
    for index, act in enumerate(acts):
        assert act.attempt <= act.retries + 1
        if act.attempt:
            assert all(earlier.state is SUCCEEDED for earlier in acts[:index])
    assert sum(act.state is RUNNING for act in acts) <= 1
    assert (flow.state is SUCCEEDED) == all(act.state is SUCCEEDED for act in acts)
    if flow.state.is_final:
        assert all(act.state.is_final for act in acts)
    counted = [step.completed_actions for step in changes.steps if isinstance(step, AdvanceWorkflow | EndWorkflow)]
    assert counted in ([], [sum(act.state is SUCCEEDED for act in acts)])


def check_mover(before: Situation, after: Situation, mover: lifecycle.Mover) -> None:
    (old_flow, old_acts), (flow, acts) = before, after
    moves = [(lifecycle.ACTION_RULES, old.state, new.state) for old, new in zip(old_acts, acts, strict=True)]
    # A workflow may start and end by one report, but never within one change.
    for rules, source, target in [(lifecycle.WORKFLOW_RULES, old_flow.state, flow.state), *moves]:
        if source is not target:
            assert any((rule.source, rule.target) == (source, target) and mover in rule.movers for rule in rules)


SIZE = 4
MOVERS = {
    "cancel": lifecycle.Mover.USER,
    "expire": lifecycle.Mover.CLOCK,
    "late": lifecycle.Mover.CLOCK,
    "lost": lifecycle.Mover.LEASE,
}
# How often the attempts of each action may be repeated.
retries = st.lists(st.integers(0, 2), min_size=SIZE, max_size=SIZE)
reports = st.builds(
    transition.Report,
    action_id=st.sampled_from([f"a{index}" for index in range(SIZE + 1)]),
    worker_id=st.sampled_from(["m", "m", "m", "x"]),
    state=st.sampled_from(State),
    attempt=st.sampled_from([0, 0, 1, 2]),
)
# Mostly what an honest worker says, or the sequences would seldom get anywhere.
honest = st.builds(heard, st.integers(0, SIZE - 1), st.sampled_from([RUNNING, SUCCEEDED, RUNNING, SUCCEEDED, FAILED]))
others = st.sampled_from(["cancel", "expire", "late", "late", "lost"])
sequences = st.lists(st.one_of(honest, honest, honest, reports, others), max_size=25)
usual: list[Event] = [heard(index, state) for index in range(SIZE) for state in (RUNNING, SUCCEEDED)]


def repeatable(counts: Sequence[int]) -> list[Action]:
    """Actions that wait, each with so many retries."""
    return [action(index, retries=count) for index, count in enumerate(counts)]
