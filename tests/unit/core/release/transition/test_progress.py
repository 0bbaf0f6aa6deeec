"""What reports about an operation change; `test_release_walk` has what holds for any sequence of them."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import (
    ACTION,
    CANCELLED,
    DESTROY,
    FAILED,
    HOLD,
    INIT,
    INSTALLING,
    OWNER,
    PENDING,
    READY,
    RECHECK,
    REMOVING,
    RUNNING,
    STATE,
    SUCCEEDED,
    TIMEOUT,
    moved,
    node,
    only,
    operation,
    planned,
    resource,
    step,
    store,
    told,
)

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release import lifecycle
from tinkwell.core.release.kinds import NodeState, NodeTask, Phase, StepKind
from tinkwell.core.release.report import Call, FinishReport, LifecycleReport, PhaseReport, RemovedReport, Report
from tinkwell.core.release.transition import progress
from tinkwell.core.release.transition.change import (
    AddStep,
    DropResource,
    MoveNode,
    MoveStep,
    StoreEmitted,
    StoreResource,
    WriteOperation,
)

WHY = '{"reason": "…"}'
_N = NodeState
INSTALL_STATES = {_N.PENDING, INSTALLING, READY, _N.FAILED, _N.SKIPPED}
REMOVE_STATES = {_N.PENDING, REMOVING, _N.REMOVED, _N.LEFT, _N.FAILED, _N.SKIPPED}


@pytest.mark.parametrize("task", NodeTask)
@pytest.mark.parametrize("before", NodeState)
@pytest.mark.parametrize("after", NodeState)
def test_nodes_move_as_the_table_of_states_says(task: NodeTask, before: NodeState, after: NodeState) -> None:
    states = INSTALL_STATES if task is NodeTask.INSTALL else REMOVE_STATES
    if before not in states:
        return
    known = store(node("db", before, task))
    if after is before:
        assert known.report(moved(after)) == ()
    elif after in lifecycle.NODE[before] and after in states:
        assert only(MoveNode, known.report(moved(after, changed=True, message="m"))) == MoveNode(
            path="db", state=after, changed=True, message="m"
        )
    else:
        with pytest.raises(errors.IllegalTransition, match=f"node db: .* cannot become {after}"):
            known.report(moved(after))


@pytest.mark.parametrize(
    ("before", "after", "task", "changed", "counts"),
    [
        (INSTALLING, READY, NodeTask.INSTALL, True, (1, 0, 0)),
        (INSTALLING, READY, NodeTask.INSTALL, False, (0, 0, 0)),
        (INSTALLING, _N.FAILED, NodeTask.INSTALL, True, (0, 1, 0)),
        (_N.PENDING, _N.SKIPPED, NodeTask.INSTALL, False, (0, 0, 1)),
        (REMOVING, _N.REMOVED, NodeTask.REMOVE, True, (1, 0, 0)),
        (_N.PENDING, _N.LEFT, NodeTask.REMOVE, False, (0, 0, 0)),
    ],
)
def test_ends_of_nodes_are_counted(
    before: NodeState, after: NodeState, task: NodeTask, changed: bool, counts: tuple[int, int, int]
) -> None:
    known = store(node("db", before, task))
    known.report(moved(after, changed=changed))
    row = known.operation
    assert (row.changed_nodes, row.failed_nodes, row.skipped_nodes) == counts


def test_an_end_of_a_node_cancels_the_actions_that_were_left() -> None:
    steps = [step(1, STATE, SUCCEEDED), step(2, ACTION, FAILED), step(3, ACTION, PENDING, 0)]
    known = store(node("db", INSTALLING), steps=steps)
    changes = known.report(moved(_N.FAILED, message="broken"))
    cancelled = MoveStep(path="db", ordinal=3, state=CANCELLED, attempt=0, message="not run, because db is FAILED")
    assert changes[:2] == (cancelled, MoveNode(path="db", state=_N.FAILED, message="broken"))


@pytest.mark.parametrize("end", [READY, _N.FAILED])
@pytest.mark.parametrize("kind", [STATE, ACTION, RECHECK])
def test_no_node_ends_while_a_step_of_it_runs(end: NodeState, kind: StepKind) -> None:
    known = store(node("db", INSTALLING), steps=[step(1, kind, RUNNING)])
    with pytest.raises(errors.IllegalTransition, match="its step 1 is RUNNING"):
        known.report(moved(end))


# Where each kind of step may begin.
BEGINS = {
    INIT: {(_N.PENDING, NodeTask.INSTALL), (_N.PENDING, NodeTask.REMOVE)},
    STATE: {(INSTALLING, NodeTask.INSTALL), (REMOVING, NodeTask.REMOVE)},
    ACTION: {(INSTALLING, NodeTask.INSTALL)},
    RECHECK: {(INSTALLING, NodeTask.INSTALL)},
    DESTROY: {(REMOVING, NodeTask.REMOVE)},
}


@pytest.mark.parametrize("kind", StepKind)
@pytest.mark.parametrize("state", NodeState)
@pytest.mark.parametrize("task", NodeTask)
def test_steps_begin_only_under_nodes_of_the_right_state(kind: StepKind, state: NodeState, task: NodeTask) -> None:
    if state not in (INSTALL_STATES if task is NodeTask.INSTALL else REMOVE_STATES):
        return
    known = store(node("db", state, task), steps=[step(1, STATE, SUCCEEDED)])
    report = told(2, kind, PENDING, 0) if kind is ACTION else told(2, kind, RUNNING)
    if (state, task) in BEGINS[kind]:
        assert known.report(report) == (AddStep(report),)
    else:
        with pytest.raises(errors.IllegalTransition, match=f"a step of kind {kind} needs a node"):
            known.report(report)


def test_an_action_runs_no_more_once_its_node_is_final() -> None:
    # An action that is left is cancelled with its node, so only a store that was tampered with comes to this.
    known = store(node("db", READY), steps=[step(1, STATE, SUCCEEDED), step(2, ACTION, PENDING, 0)])
    with pytest.raises(errors.IllegalTransition, match="needs a node that is INSTALLING; it is READY"):
        known.report(told(2, ACTION, RUNNING))


@pytest.mark.parametrize("kind", [ACTION, RECHECK])
@pytest.mark.parametrize("lacking", [None, *State])
def test_actions_and_rechecks_begin_after_everything_since_the_state_has_succeeded(
    kind: StepKind, lacking: State | None
) -> None:
    before = [step(1, STATE, SUCCEEDED)]
    if lacking is not None:
        before.append(step(2, ACTION, lacking))
    ordinal = len(before) + 1
    steps = [*before, step(ordinal, ACTION, PENDING, 0)] if kind is ACTION else before
    known = store(node("db", INSTALLING), steps=steps)
    report = told(ordinal, kind, RUNNING)
    if lacking in (None, SUCCEEDED):
        assert known.report(report)
    else:
        with pytest.raises(errors.IllegalTransition, match=f"step 2 .* {lacking}"):
            known.report(report)


@pytest.mark.parametrize("kind", [ACTION, RECHECK])
def test_actions_and_rechecks_need_a_state_that_asked_for_them(kind: StepKind) -> None:
    steps = [step(1, INIT, SUCCEEDED)]
    if kind is ACTION:
        steps.append(step(2, ACTION, PENDING, 0))
    known = store(node("db", INSTALLING), steps=steps)
    with pytest.raises(errors.IllegalTransition, match="no STATE has said that it is needed"):
        known.report(told(2, kind, RUNNING))


def test_a_new_round_counts_from_its_own_state() -> None:
    steps = [
        step(1, STATE, SUCCEEDED),
        step(2, ACTION, CANCELLED),
        step(3, STATE, SUCCEEDED),
        step(4, ACTION, PENDING, 0),
    ]
    known = store(node("db", INSTALLING), steps=steps)
    assert known.report(told(4, ACTION, RUNNING))


@pytest.mark.parametrize("kind", [STATE, DESTROY])
@pytest.mark.parametrize("left", [PENDING, RUNNING])
def test_no_step_begins_before_all_earlier_ones_are_final(kind: StepKind, left: State) -> None:
    state, task = (INSTALLING, NodeTask.INSTALL) if kind is STATE else (REMOVING, NodeTask.REMOVE)
    earlier = ACTION if kind is STATE else DESTROY
    known = store(node("db", state, task), steps=[step(1, earlier, left)])
    with pytest.raises(errors.IllegalTransition, match=f"step 1 comes first, and is {left}"):
        known.report(told(2, kind, RUNNING))


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("after", State)
def test_steps_move_as_the_table_of_states_says(before: State, after: State) -> None:
    known = store(node("db", INSTALLING), steps=[step(1, STATE, SUCCEEDED), step(2, ACTION, before, 1)])
    attempt = 2 if before is PENDING and after is RUNNING else 1
    report = told(2, ACTION, after, attempt, exit_code=3, message="m")
    if after is before:
        assert known.report(report) == ()
    elif after in lifecycle.STEP[before]:
        expected = MoveStep(path="db", ordinal=2, state=after, attempt=attempt, exit_code=3, message="m")
        assert known.report(report) == (expected,)
    else:
        with pytest.raises(errors.IllegalTransition, match=f"attempt 1 is {before}, so it cannot become {after}"):
            known.report(report)


@pytest.mark.parametrize(
    ("before", "attempt", "after", "told_attempt", "due"),
    [
        (PENDING, 0, RUNNING, 0, 1),
        (PENDING, 0, RUNNING, 2, 1),
        (PENDING, 1, RUNNING, 1, 2),
        (PENDING, 1, RUNNING, 3, 2),
        (PENDING, 1, CANCELLED, 2, 1),
        (RUNNING, 2, SUCCEEDED, 1, 2),
        (RUNNING, 2, PENDING, 1, 2),
        (RUNNING, 2, FAILED, 3, 2),
    ],
)
def test_attempts_are_counted_one_by_one(
    before: State, attempt: int, after: State, told_attempt: int, due: int
) -> None:
    known = store(node("db", INSTALLING), steps=[step(1, STATE, SUCCEEDED), step(2, ACTION, before, attempt)])
    with pytest.raises(errors.IllegalTransition, match=f"about attempt {told_attempt}, and attempt {due} is due"):
        known.report(told(2, ACTION, after, told_attempt))


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (told(3, STATE, RUNNING), "step 3 of db does not exist; 2 is the next one"),
        (told(0, STATE, RUNNING), "step 0 of db does not exist"),
        (told(-1, STATE, RUNNING), "step -1 of db does not exist"),
        (told(1, ACTION, CANCELLED), "step 1 of db is STATE, not ACTION"),
        (told(2, ACTION, RUNNING), "a new ACTION is PENDING with attempt 0"),
        (told(2, ACTION, PENDING, 1), "a new ACTION is PENDING with attempt 0"),
        (told(2, RECHECK, PENDING, 0), "a new RECHECK is RUNNING with attempt 1"),
        (told(2, RECHECK, SUCCEEDED), "a new RECHECK is RUNNING with attempt 1"),
        (told(2, RECHECK, RUNNING, 2), "a new RECHECK is RUNNING with attempt 1"),
    ],
)
def test_reports_that_fit_nothing_are_refused(report: Report, message: str) -> None:
    known = store(node("db", INSTALLING), steps=[step(1, STATE, SUCCEEDED)])
    with pytest.raises(errors.InvalidField, match=rf"^reports\[1\]: .*{message}"):
        known.report(PhaseReport(Phase.APPLY), report)


@pytest.mark.parametrize(
    "report", [moved(READY, "x"), told(1, STATE, RUNNING, path="x"), resource("x"), RemovedReport("x")]
)
def test_reports_about_what_is_not_in_the_plan_are_refused(report: Report) -> None:
    with pytest.raises(errors.NotFound, match="node x of operation"):
        store(node("db", INSTALLING)).report(report)


def test_a_group_is_judged_report_upon_report() -> None:
    known = store(node("db"), node("web"))
    reports: list[Report] = [
        moved(INSTALLING),
        told(1, STATE, RUNNING),
        told(1, STATE, SUCCEEDED, exit_code=0),
        told(2, ACTION, PENDING, 0, call=Call(name="create")),
        resource(owned=True),
        told(2, ACTION, RUNNING),
        told(2, ACTION, SUCCEEDED),
        told(3, RECHECK, RUNNING),
        told(3, RECHECK, SUCCEEDED),
        moved(READY, changed=True),
    ]
    changes = known.report(*reports)
    assert known.nodes["db"].row.state is READY
    assert [each.row.state for each in known.steps["db"]] == [SUCCEEDED] * 3
    assert known.operation.changed_nodes == 1
    assert isinstance(changes[-1], WriteOperation)


REPEATED: list[list[Report]] = [
    [moved(INSTALLING), told(1, STATE, RUNNING)],
    [told(1, STATE, SUCCEEDED), told(2, ACTION, PENDING, 0), told(2, ACTION, RUNNING)],
    [told(2, ACTION, PENDING, 1), told(2, ACTION, RUNNING, 2)],
    [told(2, ACTION, SUCCEEDED, 2), told(3, RECHECK, RUNNING), told(3, RECHECK, SUCCEEDED), moved(READY)],
]


def test_a_group_that_comes_again_changes_nothing() -> None:
    known = store(node("db"), node("web"))
    for group in REPEATED:
        assert known.report(*group)
        before = known.copy()
        assert known.report(*group) == ()
        assert known.copy() == before


def test_a_group_that_comes_again_may_be_cut_off_from_a_larger_one() -> None:
    known = store(node("db"), node("web"))
    known.report(*REPEATED[0])
    larger = [*REPEATED[0], *REPEATED[1]]
    assert known.report(*larger)
    assert known.report(*larger) == ()


@pytest.mark.parametrize("place", range(len(REPEATED) - 1))
def test_an_older_start_that_comes_again_by_itself_is_refused(place: int) -> None:
    known = store(node("db"), node("web"))
    for group in REPEATED:
        known.report(*group)
    with pytest.raises(errors.IllegalTransition):
        known.report(*REPEATED[place])


def test_what_is_known_of_a_resource_is_stored_with_the_revision_that_saw_it() -> None:
    known = store(node("db", INSTALLING), node("old", REMOVING, NodeTask.REMOVE))
    assert known.report(resource("db")) == (StoreResource(resource("db"), 2),)
    assert known.report(resource("old")) == (StoreResource(resource("old"), None),)
    assert known.report(RemovedReport("old")) == (DropResource("old"),)
    with pytest.raises(errors.InvalidField, match=r"reports\[0\]: db is installed by this operation, not removed"):
        known.report(RemovedReport("db"))


@pytest.mark.parametrize("before", Phase)
@pytest.mark.parametrize("after", Phase)
def test_phases_go_back_only_before_there_is_a_plan(before: Phase, after: Phase) -> None:
    early = [Phase.LOAD, Phase.RENDER, Phase.VALIDATE]
    known = store(work=operation(phase=before))
    is_legal = (before in early and after in early) or (before, after) in [
        (Phase.APPLY, Phase.APPLY),
        (Phase.APPLY, Phase.CLEANUP),
        (Phase.CLEANUP, Phase.CLEANUP),
    ]
    if is_legal:
        changes = known.report(PhaseReport(after))
        assert changes == (() if before is after else (WriteOperation(operation(phase=after)),))
    else:
        with pytest.raises(errors.IllegalTransition, match=f"in phase {before}, so it cannot be in {after}"):
            known.report(PhaseReport(after))


def test_an_end_goes_by_what_was_reported_with_it() -> None:
    known = store(node("db", INSTALLING), node("web"), steps=[step(1, STATE, RUNNING)])
    known.report(
        told(1, STATE, FAILED, message="broken"),
        moved(_N.FAILED),
        FinishReport(state=FAILED, cause=WHY),
    )
    assert {path: each.row.state for path, each in known.nodes.items()} == {"db": _N.FAILED, "web": _N.SKIPPED}
    row = known.operation
    assert (row.state, row.failed_nodes, row.skipped_nodes, row.cause) == (FAILED, 1, 1, WHY)
    assert sum(isinstance(each, WriteOperation) for each in known.written) == 1


def test_steps_that_a_group_adds_are_there_for_its_end() -> None:
    known = store(node("db", INSTALLING))
    asked: list[Report] = [told(1, STATE, RUNNING), FinishReport(state=FAILED, cause=WHY)]
    known.report(*asked)
    assert known.steps["db"][0].row.state is CANCELLED


def test_nothing_follows_an_end() -> None:
    with pytest.raises(errors.InvalidField, match=r"reports\[1\]: comes after the end"):
        store(node("db")).report(FinishReport(state=FAILED, cause=WHY), moved(INSTALLING))


@pytest.mark.parametrize("state", [SUCCEEDED, FAILED, TIMEOUT, CANCELLED])
def test_an_operation_that_has_ended_refuses_everything_but_its_end_once_more(state: State) -> None:
    known = store(node("db", READY), work=planned(state=state))
    finish = FinishReport(state=state, cause="" if state is SUCCEEDED else WHY)
    assert known.report(moved(READY), finish, hold=None) == ()
    other = FinishReport(state=FAILED if state is not FAILED else SUCCEEDED, cause=WHY)
    refused: list[list[Report]] = [[], [moved(INSTALLING)], [PhaseReport(Phase.APPLY)], [resource()], [other]]
    for reports in refused:
        with pytest.raises(errors.IllegalTransition, match=f"it has ended as {state}; that is final"):
            known.report(*reports)


def test_an_operation_that_was_not_taken_hears_nothing() -> None:
    with pytest.raises(errors.IllegalTransition, match="it is PENDING; acquire it first"):
        store(work=operation(state=PENDING)).report(PhaseReport(Phase.LOAD))


def test_only_the_owner_reports() -> None:
    known = store(node("db"))
    other = replace(HOLD, lease_id="other", lease=lease.Lease(id="other", engine="", is_live=True))
    for hold in (None, other):
        with pytest.raises(errors.LeaseLost):
            known.report(PhaseReport(Phase.APPLY), hold=hold)


@pytest.mark.parametrize(
    ("report", "starts"),
    [
        (moved(INSTALLING), True),
        (moved(_N.FAILED), False),
        (told(1, INIT, RUNNING), True),
        (resource(), False),
        (FinishReport(state=FAILED, cause=WHY), False),
    ],
)
def test_an_owner_whose_lease_has_expired_tells_ends_only(report: Any, starts: bool) -> None:
    dead = lease.Lease(id=HOLD.lease_id, engine="", is_live=False)
    hold = replace(HOLD, lease=dead)
    known = store(node("db"))
    if starts:
        with pytest.raises(errors.LeaseLost):
            known.report(report, hold=hold)
    else:
        assert known.report(report, hold=hold, by=replace(OWNER, lease=dead))


def test_a_group_says_what_is_needed_to_judge_it() -> None:
    reports: list[Report] = [moved(READY, "a"), told(1, STATE, RUNNING, path="b"), resource("c"), RemovedReport("d")]
    assert progress.paths([*reports, PhaseReport(Phase.APPLY)]) == {"a", "b", "c", "d"}
    assert not progress.ends(reports)
    assert progress.ends([*reports, FinishReport(state=SUCCEEDED)])


@pytest.mark.parametrize("phase", Phase)
def test_what_is_emitted_is_taken_in_every_phase_as_long_as_the_operation_runs(phase: Phase) -> None:
    emitted = LifecycleReport(event="pre-install", chart="shop")
    for work in (store(work=operation(phase=phase)), store(work=operation(phase=phase, is_cancel_requested=True))):
        assert work.report(emitted) == (StoreEmitted(emitted),)
    assert progress.paths([emitted]) == frozenset()
    for state in (PENDING, SUCCEEDED, FAILED):
        with pytest.raises(errors.IllegalTransition):
            store(work=operation(state=state, phase=phase)).report(emitted)
