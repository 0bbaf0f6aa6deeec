"""Properties of the rules of workflows, over any sequence of reports, cancellations, deadlines and losses."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.core.workflow_model import (
    ACTION_TARGETS,
    FAILED,
    FINAL,
    PENDING,
    RUNNING,
    SIZE,
    SUCCEEDED,
    TIMEOUT,
    WORKFLOW_TARGETS,
    Event,
    actions,
    apply,
    heard,
    repeatable,
    reports,
    retries,
    run,
    sequences,
    usual,
    workflow,
)

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import change, transition
from tinkwell.core.workflow.change import EndWorkflow, RetryAction


@given(sequences, st.integers(0, len(usual)), retries)
def test_no_sequence_breaks_the_order_or_moves_a_final_state_or_takes_too_many_attempts(
    sequence: list[Event], begun: int, counts: list[int]
) -> None:
    run(workflow(PENDING), repeatable(counts), usual[:begun] + sequence)


@given(sequences, st.integers(0, len(usual)), retries)
def test_replaying_any_beginning_of_what_was_accepted_gives_the_same(
    sequence: list[Event], begun: int, counts: list[int]
) -> None:
    start = workflow(PENDING), repeatable(counts)
    flow, acts, accepted = run(*start, usual[:begun] + sequence)
    assert run(*start, accepted) == (flow, acts, accepted)
    for length in range(len(accepted)):
        half = run(*start, accepted[:length])
        assert run(*half[:2], accepted[length:])[:2] == (flow, acts)


@given(sequences, retries)
def test_a_cancellation_always_ends_the_workflow(sequence: list[Event], counts: list[int]) -> None:
    flow, acts, _ = run(workflow(PENDING), repeatable(counts), [*sequence, "cancel"])
    assert flow.state.is_final
    assert all(act.state.is_final for act in acts)


@given(sequences, retries)
def test_a_deadline_always_ends_a_workflow_that_has_begun(sequence: list[Event], counts: list[int]) -> None:
    flow, acts, _ = run(workflow(PENDING), repeatable(counts), [heard(0, RUNNING), *sequence, "expire"])
    assert flow.state.is_final
    assert all(act.state.is_final for act in acts)


@given(sequences, retries)
def test_nothing_is_repeated_once_the_workflows_deadline_is_past(sequence: list[Event], counts: list[int]) -> None:
    flow, acts, _ = run(workflow(PENDING), repeatable(counts), [heard(0, RUNNING), *sequence])
    late = replace(flow, remaining_seconds=-0.1)
    for act in acts:
        if act.state is not RUNNING:
            continue
        ways = [transition.report(late, acts, heard(act.index, state)) for state in (FAILED, TIMEOUT)]
        for changes in [*ways, transition.lose(late, acts, act)]:
            assert isinstance(changes.steps[-1], EndWorkflow)
            assert not any(isinstance(step, RetryAction) for step in changes.steps)


@given(sequences, st.data(), retries)
def test_saying_everything_twice_changes_nothing_more(
    sequence: list[Event], data: st.DataObject, counts: list[int]
) -> None:
    start = workflow(PENDING), repeatable(counts)
    flow, acts, accepted = run(*start, sequence)
    doubled = [event for event in accepted for _ in range(data.draw(st.integers(1, 3)))]
    assert run(*start, doubled)[:2] == (flow, acts)


@given(retries)
def test_a_worker_that_fails_as_long_as_it_may_and_then_succeeds_gets_every_workflow_to_success(
    counts: list[int],
) -> None:
    failing: list[Event] = []
    for index, count in enumerate(counts):
        failing += [heard(index, state) for state in (RUNNING, FAILED)] * count
        failing += [heard(index, state) for state in (RUNNING, SUCCEEDED)]
    flow, acts, accepted = run(workflow(PENDING), repeatable(counts), failing)
    assert accepted == failing
    assert flow.state is SUCCEEDED
    assert [act.attempt for act in acts] == [count + 1 for count in counts]


def test_an_honest_worker_gets_every_workflow_to_success() -> None:
    flow, acts, accepted = run(workflow(PENDING), actions(*[PENDING] * SIZE), usual)
    assert accepted == usual
    assert flow.state is SUCCEEDED
    assert [act.state for act in acts] == [SUCCEEDED] * SIZE


def test_no_final_state_leads_anywhere() -> None:
    for table in (WORKFLOW_TARGETS, ACTION_TARGETS):
        assert set(table) == set(State)
        assert all(not table[state] for state in FINAL)


@given(sequences, st.integers(0, len(usual)), retries, reports)
def test_what_one_action_and_the_number_of_successes_decide_is_what_all_actions_decide(
    sequence: list[Event], begun: int, counts: list[int], told: transition.Report
) -> None:
    flow, acts, _ = run(workflow(PENDING), repeatable(counts), usual[:begun] + sequence)
    act = next((act for act in acts if act.id == told.action_id), None)
    if act is None or told.state not in (RUNNING, SUCCEEDED):
        return
    try:
        known = transition.around(act, completed=sum(a.state is SUCCEEDED for a in acts), total=len(acts))
        found = transition.report(flow, known, told)
    except errors.TinkwellError:
        return
    assert found == transition.report(flow, acts, told)


def test_all_of_a_usual_workflow_is_decided_by_single_actions() -> None:
    flow = workflow(PENDING)
    acts: Sequence[change.Action] = repeatable([0] * SIZE)
    for told in usual:
        assert isinstance(told, transition.Report)
        act = next(act for act in acts if act.id == told.action_id)
        known = transition.around(act, completed=sum(a.state is SUCCEEDED for a in acts), total=len(acts))
        found = transition.report(flow, known, told)
        assert found == transition.report(flow, acts, told)
        flow, acts = apply(flow, acts, found)
    assert flow.state is SUCCEEDED


def test_an_action_that_is_not_due_is_not_judged_by_itself() -> None:
    act = repeatable([0] * SIZE)[1]
    with pytest.raises(errors.IllegalTransition):
        transition.around(act, completed=0, total=SIZE)
