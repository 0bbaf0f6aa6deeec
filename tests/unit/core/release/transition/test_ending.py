"""What the end of an operation changes."""

import json
from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import (
    ACTION,
    CANCELLED,
    DESTROY,
    FAILED,
    HOLD,
    INSTALLING,
    OPERATION_ID,
    PENDING,
    RUNNING,
    STATE,
    SUCCEEDED,
    TIMEOUT,
    Store,
    node,
    only,
    operation,
    planned,
    release,
    step,
    store,
)

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release.kinds import NodeState, NodeTask, OperationKind, Phase, ReleaseState, RevisionState
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import FinishReport
from tinkwell.core.release.transition import change, ending
from tinkwell.core.release.transition.operation import STATES

INSTALL, UPGRADE, ROLLBACK, UNINSTALL, *_ = OperationKind
UNSUCCESSFUL = [FAILED, TIMEOUT, CANCELLED]
WHY = '{"reason": "…"}'


def finish(of: Store, state: State) -> change.Changes:
    changes = ending.finish(
        of.operation, of.leftover(), FinishReport(state=state, cause="" if state is SUCCEEDED else WHY)
    )
    of.apply(changes)
    return changes


def an_operation(kind: OperationKind, *, has_plan: bool, atomic: bool = False, **fields: Any) -> Store:
    """An operation of a release whose revision 1 is DEPLOYED, but for a first installation."""
    is_first = kind is INSTALL
    revision = 0 if kind is UNINSTALL or not has_plan else 1 if is_first else 2
    row = operation(
        kind,
        **{
            "phase": Phase.APPLY if has_plan else Phase.RENDER,
            "revision": revision,
            "options": Options(atomic=atomic, timeout_seconds=60),
            "former_state": ReleaseState.FAILED if is_first else ReleaseState.DEPLOYED,
            "is_cancel_requested": True,
        }
        | fields,
    )
    revisions = {} if is_first else {1: RevisionState.DEPLOYED}
    if revision:
        revisions[revision] = RevisionState.PENDING
    last = max(revisions, default=0)
    found = release(STATES[kind], revision=0 if is_first else 1, latest_revision=last)
    return Store(release=found, operation=row, revisions=revisions)


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("state", UNSUCCESSFUL)
def test_without_a_plan_the_release_is_as_before(kind: OperationKind, state: State) -> None:
    ended = an_operation(kind, has_plan=False, atomic=True)
    before = ended.release
    finish(ended, state)
    assert ended.release == replace(before, state=ReleaseState.FAILED if kind is INSTALL else ReleaseState.DEPLOYED)
    assert ended.revisions == ({} if kind is INSTALL else {1: RevisionState.DEPLOYED})
    assert ended.follow_up is None
    assert not ended.is_held


@pytest.mark.parametrize("kind", [UPGRADE, ROLLBACK])
def test_a_success_deploys_the_revision_in_place_of_the_former_one(kind: OperationKind) -> None:
    ended = an_operation(kind, has_plan=True)
    changes = finish(ended, SUCCEEDED)
    assert ended.revisions == {1: RevisionState.SUPERSEDED, 2: RevisionState.DEPLOYED}
    assert (ended.release.state, ended.release.revision) == (ReleaseState.DEPLOYED, 2)
    assert ended.operation.cause == ""
    assert not ended.is_held
    kinds = [type(each) for each in changes]
    assert kinds.index(change.WriteOperation) < kinds.index(change.WriteRelease), "the release's event tells of its end"


def test_a_first_success_supersedes_nothing() -> None:
    ended = an_operation(INSTALL, has_plan=True)
    finish(ended, SUCCEEDED)
    assert ended.revisions == {1: RevisionState.DEPLOYED}
    assert (ended.release.state, ended.release.revision) == (ReleaseState.DEPLOYED, 1)


@pytest.mark.parametrize("state", [SUCCEEDED, FAILED])
def test_the_deployed_revision_stays_what_it_is_when_it_is_brought_about_again(state: State) -> None:
    ended = an_operation(UPGRADE, has_plan=True, revision=1)
    ended.revisions = {1: RevisionState.DEPLOYED}
    finish(ended, state)
    assert ended.revisions == {1: RevisionState.DEPLOYED}
    assert ended.release.state is (ReleaseState.DEPLOYED if state is SUCCEEDED else ReleaseState.FAILED)
    assert ended.release.revision == 1


@pytest.mark.parametrize("kind", [INSTALL, UPGRADE, ROLLBACK])
@pytest.mark.parametrize("state", UNSUCCESSFUL)
def test_without_success_the_revision_is_failed_and_the_former_one_stays_deployed(
    kind: OperationKind, state: State
) -> None:
    ended = an_operation(kind, has_plan=True)
    finish(ended, state)
    own = 1 if kind is INSTALL else 2
    assert ended.revisions == {1: RevisionState.DEPLOYED} | {own: RevisionState.FAILED}
    assert (ended.release.state, ended.release.revision) == (ReleaseState.FAILED, own - 1)
    assert ended.operation.cause == WHY


def test_an_uninstalled_release_is_gone() -> None:
    ended = an_operation(UNINSTALL, has_plan=True)
    finish(ended, SUCCEEDED)
    assert ended.revisions == {1: RevisionState.UNINSTALLED}
    assert (ended.release.state, ended.release.is_deleted) == (ReleaseState.UNINSTALLED, True)


def test_of_a_release_that_was_never_deployed_the_newest_revision_is_uninstalled() -> None:
    ended = an_operation(UNINSTALL, has_plan=True)
    ended.revisions = {1: RevisionState.FAILED}
    ended.release = release(ReleaseState.UNINSTALLING, latest_revision=1)
    finish(ended, SUCCEEDED)
    assert ended.revisions == {1: RevisionState.UNINSTALLED}


@pytest.mark.parametrize("state", UNSUCCESSFUL)
def test_an_uninstallation_without_success_leaves_the_revision(state: State) -> None:
    ended = an_operation(UNINSTALL, has_plan=True, atomic=True)
    finish(ended, state)
    assert ended.revisions == {1: RevisionState.DEPLOYED}
    assert (ended.release.state, ended.release.is_deleted) == (ReleaseState.FAILED, False)
    assert ended.follow_up is None


@pytest.mark.parametrize(("kind", "next_kind"), [(UPGRADE, ROLLBACK), (ROLLBACK, ROLLBACK), (INSTALL, UNINSTALL)])
@pytest.mark.parametrize("state", UNSUCCESSFUL)
def test_an_atomic_operation_without_success_is_made_up_for(
    kind: OperationKind, next_kind: OperationKind, state: State
) -> None:
    ended = an_operation(kind, has_plan=True, atomic=True)
    changes = finish(ended, state)
    following = ended.follow_up
    assert following is not None
    assert following == operation(
        next_kind,
        PENDING,
        id=ending.follow_up_id(OPERATION_ID),
        options=Options(atomic=False, timeout_seconds=60),
        former_state=ReleaseState.FAILED,
        rollback_of=0 if kind is INSTALL else 1,
        follows=OPERATION_ID,
        remaining_seconds=60,
    )
    assert (ended.release.state, ended.release.operation_id) == (STATES[next_kind], following.id)
    assert only(change.AddOperation, changes).is_held
    assert change.LetGo() not in changes
    # FAILED in between, as the table of states has it.
    states = [each.row.state for each in changes if isinstance(each, change.WriteRelease)]
    assert states == [ReleaseState.FAILED, STATES[next_kind]]


def test_an_operation_that_makes_up_for_another_is_not_made_up_for() -> None:
    ended = an_operation(ROLLBACK, has_plan=True, atomic=True, follows="22222222-2222-4222-8222-222222222222")
    finish(ended, FAILED)
    assert ended.follow_up is None


def test_a_success_is_not_made_up_for() -> None:
    ended = an_operation(UPGRADE, has_plan=True, atomic=True)
    finish(ended, SUCCEEDED)
    assert ended.follow_up is None


def test_without_an_owner_the_next_operation_is_anybodys() -> None:
    ended = an_operation(UPGRADE, has_plan=True, atomic=True, remaining_seconds=-1.0)
    changes = ending.expire(ended.operation, ended.leftover())
    ended.apply(changes)
    assert not only(change.AddOperation, changes).is_held
    assert change.LetGo() in changes


def half_done(**fields: Any) -> Store:
    """One node of each state that is not final, with steps."""
    return store(
        node("a", INSTALLING),
        node("b"),
        node("c", NodeState.REMOVING, NodeTask.REMOVE),
        steps=[
            step(1, STATE, SUCCEEDED, path="a"),
            step(2, ACTION, fields.pop("running", RUNNING), path="a"),
            step(3, ACTION, PENDING, 0, path="a"),
        ],
        work=planned(total_nodes=5, changed_nodes=2, **fields),
    )


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_what_is_not_final_ends_with_the_operation(is_cancelled: bool) -> None:
    ended = half_done(remaining_seconds=-1.0)
    if is_cancelled:
        ended.apply(ending.cancel(ended.operation, ended.leftover(), reason="enough"))
    else:
        ended.apply(ending.expire(ended.operation, ended.leftover()))
    state, why = (CANCELLED, "enough") if is_cancelled else (TIMEOUT, "the operation's deadline passed")
    assert ended.operation.state is state
    assert json.loads(ended.operation.cause) == {"reason": str(state), "message": why}
    found = {path: (each.row.state, each.message) for path, each in ended.nodes.items()}
    assert found == {
        "a": (NodeState.FAILED, f"not finished: {why}"),
        "b": (NodeState.SKIPPED, f"not started: {why}"),
        "c": (NodeState.FAILED, f"not finished: {why}"),
    }
    assert [each.row.state for each in ended.steps["a"]] == [SUCCEEDED, state, CANCELLED]
    row = ended.operation
    assert (row.changed_nodes, row.failed_nodes, row.skipped_nodes) == (2, 2, 1)
    assert not ended.is_held


def test_an_operation_that_nobody_took_says_so() -> None:
    ended = an_operation(INSTALL, has_plan=False, state=PENDING, remaining_seconds=0.0, is_cancel_requested=False)
    ended.apply(ending.expire(ended.operation, ended.leftover()))
    assert ended.operation.state is TIMEOUT
    assert json.loads(ended.operation.cause)["message"] == "no provisioner took the operation before its deadline"
    assert ended.release == release(ReleaseState.FAILED)


def test_what_was_cancelled_and_lost_its_owner_ends_as_cancelled_for_the_reason_that_was_given() -> None:
    row = operation(state=RUNNING, is_cancel_requested=True)
    dead = replace(HOLD, lease=lease.Lease(id=HOLD.lease_id, engine="", is_live=False))
    alive = replace(HOLD, lease=lease.Lease(id=HOLD.lease_id, engine="", is_live=True))
    assert ending.is_due(row, dead)
    assert not ending.is_due(row, alive)
    ended = half_done(state=RUNNING, is_cancel_requested=True)
    ended.apply(ending.expire(ended.operation, ended.leftover(), cancel_reason="enough"))
    assert ended.operation.state is CANCELLED
    assert json.loads(ended.operation.cause) == {"reason": "CANCELLED", "message": "enough"}


@pytest.mark.parametrize("state", [PENDING, RUNNING])
@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize("left", [1.0, 0.0, -1.0])
def test_only_what_is_past_its_deadline_and_held_by_nobody_alive_is_due(
    state: State, is_live: bool, left: float
) -> None:
    hold = replace(HOLD, lease=lease.Lease(id=HOLD.lease_id, engine="", is_live=is_live))
    row = operation(state=state, remaining_seconds=left)
    assert ending.is_due(row, hold) is (left <= 0 and not is_live)
    assert ending.is_due(row, None) is (left <= 0)


@pytest.mark.parametrize("state", [state for state in State if state.is_final])
def test_what_has_ended_is_never_due(state: State) -> None:
    assert not ending.is_due(operation(state=state, remaining_seconds=-9.0), None)


@pytest.mark.parametrize("kind", [ACTION, DESTROY])
@pytest.mark.parametrize("state", UNSUCCESSFUL)
def test_no_owner_ends_an_operation_while_an_action_runs(kind: Any, state: State) -> None:
    task = NodeTask.INSTALL if kind is ACTION else NodeTask.REMOVE
    begun = INSTALLING if kind is ACTION else NodeState.REMOVING
    row = planned(is_cancel_requested=True)
    running = store(node("a", begun, task), steps=[step(1, kind, RUNNING, path="a")], work=row)
    with pytest.raises(errors.IllegalTransition, match="step 1 of a is RUNNING; report its end first"):
        finish(running, state)


def test_an_owner_may_end_an_operation_while_a_call_without_effects_runs() -> None:
    running = store(node("a", INSTALLING), steps=[step(1, STATE, RUNNING, path="a")])
    finish(running, TIMEOUT)
    assert running.steps["a"][0].row.state is TIMEOUT


@pytest.mark.parametrize(
    ("row", "nodes", "message"),
    [
        (operation(), [], "it has no plan yet"),
        (planned(), [node("a")], "a is PENDING, so it cannot have SUCCEEDED"),
        (planned(), [node("a", INSTALLING)], "a is INSTALLING, so it cannot have SUCCEEDED"),
        (planned(failed_nodes=1, skipped_nodes=2), [], "3 of its nodes were not installed or removed"),
    ],
)
def test_a_success_is_told_only_of_what_succeeded(row: Any, nodes: Any, message: str) -> None:
    with pytest.raises(errors.IllegalTransition, match=message):
        finish(store(*nodes, work=row), SUCCEEDED)


def test_nobody_tells_of_a_cancellation_that_was_not_asked_for() -> None:
    with pytest.raises(errors.IllegalTransition, match="nobody asked to cancel it"):
        finish(store(), CANCELLED)


@pytest.mark.parametrize(
    ("told", "field"),
    [
        (FinishReport(state=PENDING), "state"),
        (FinishReport(state=RUNNING), "state"),
        (FinishReport(state=FAILED), "cause"),
        (FinishReport(state=SUCCEEDED, cause=WHY), "cause"),
    ],
)
def test_an_end_says_how_and_why(told: FinishReport, field: str) -> None:
    of = store()
    with pytest.raises(errors.InvalidField, match=f"^{field}: "):
        ending.finish(of.operation, of.leftover(), told)
