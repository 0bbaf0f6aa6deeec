"""What begins, takes and cancels an operation."""

import json
from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import ACTION, ENGINE, HOLD, OPERATION_ID, OWNER, STATE, operation, planned, release, step

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release.kinds import OperationKind, ReleaseState, RevisionState
from tinkwell.core.release.record import Options
from tinkwell.core.release.transition import operation as rule
from tinkwell.core.release.transition.change import MoveStep, TakeHold, WriteOperation
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.release.transition.row import ReleaseRow, RevisionRow

INSTALL, UPGRADE, ROLLBACK, UNINSTALL, *_ = OperationKind
CHANGING = [
    ReleaseState.PENDING_INSTALL,
    ReleaseState.PENDING_UPGRADE,
    ReleaseState.PENDING_ROLLBACK,
    ReleaseState.UNINSTALLING,
]
SETTLED = [ReleaseState.DEPLOYED, ReleaseState.FAILED]
LOST = "STEP_LOST: its owner is dead, and its engine is another one, so its result is lost"
OLD = RevisionRow(revision=1, state=RevisionState.SUPERSEDED)


def begin(kind: OperationKind, found: ReleaseRow | None) -> Begun:
    match kind:
        case OperationKind.ROLLBACK:
            return rule.begin_rollback(found, name="shop", wanted=1, target=OLD)
        case OperationKind.UNINSTALL:
            return rule.begin_uninstall(found, name="shop")
        case _:
            return rule.begin_apply(found)


@pytest.mark.parametrize("kind", [UPGRADE, ROLLBACK, UNINSTALL])
@pytest.mark.parametrize("state", SETTLED)
def test_a_settled_release_may_be_changed_and_would_go_back_to_what_it_is(
    kind: OperationKind, state: ReleaseState
) -> None:
    begun = begin(kind, release(state, revision=2, latest_revision=3))
    assert begun == Begun(kind=kind, former_state=state, rollback_of=1 if kind is ROLLBACK else 0)
    assert begun.release_state is rule.STATES[kind]


@pytest.mark.parametrize("kind", [UPGRADE, ROLLBACK, UNINSTALL])
@pytest.mark.parametrize("state", CHANGING)
def test_beside_an_operation_there_is_no_other_one(kind: OperationKind, state: ReleaseState) -> None:
    with pytest.raises(errors.OperationActive, match=OPERATION_ID) as caught:
        begin(kind, release(state, revision=2))
    assert (caught.value.release_name, caught.value.operation_id) == ("shop", OPERATION_ID)


@pytest.mark.parametrize("kind", [ROLLBACK, UNINSTALL])
@pytest.mark.parametrize("found", [None, release(ReleaseState.UNINSTALLED)])
def test_what_is_not_installed_cannot_be_rolled_back_or_removed(kind: OperationKind, found: ReleaseRow | None) -> None:
    with pytest.raises(errors.NotFound, match="release shop does not exist"):
        begin(kind, found)


@pytest.mark.parametrize(
    "found", [None, release(ReleaseState.UNINSTALLED, revision=4), release(ReleaseState.FAILED, latest_revision=1)]
)
def test_a_name_that_is_free_and_a_release_that_was_never_deployed_are_installed(found: ReleaseRow | None) -> None:
    assert rule.begin_apply(found) == Begun(kind=INSTALL, former_state=ReleaseState.FAILED)


@pytest.mark.parametrize("state", SETTLED)
def test_a_chart_is_installed_under_a_name_that_no_deployed_release_has(state: ReleaseState) -> None:
    assert rule.begin_install(None) == Begun(kind=INSTALL, former_state=ReleaseState.FAILED)
    gone = release(ReleaseState.UNINSTALLED, revision=2)
    assert rule.begin_install(gone) == Begun(kind=INSTALL, former_state=ReleaseState.FAILED)
    never = release(ReleaseState.FAILED, latest_revision=1)
    assert rule.begin_install(never) == Begun(kind=INSTALL, former_state=ReleaseState.FAILED)
    with pytest.raises(errors.AlreadyExists, match="upgrade that one, or uninstall it first"):
        rule.begin_install(release(state, revision=2))


def test_an_upgrade_needs_a_release_unless_it_may_install_one() -> None:
    for found in (None, release(ReleaseState.UNINSTALLED, revision=2)):
        with pytest.raises(errors.NotFound, match="release shop"):
            rule.begin_upgrade(found, name="shop", install=False)
        begun = rule.begin_upgrade(found, name="shop", install=True)
        assert begun == Begun(kind=INSTALL, former_state=ReleaseState.FAILED)
    for install in (False, True):
        begun = rule.begin_upgrade(release(ReleaseState.DEPLOYED, revision=2), name="shop", install=install)
        assert begun == Begun(kind=UPGRADE, former_state=ReleaseState.DEPLOYED)
        with pytest.raises(errors.OperationActive):
            rule.begin_upgrade(release(ReleaseState.PENDING_UPGRADE, revision=2), name="shop", install=install)


@pytest.mark.parametrize("state", CHANGING)
def test_no_chart_is_installed_beside_an_operation(state: ReleaseState) -> None:
    with pytest.raises(errors.OperationActive):
        rule.begin_install(release(state, revision=2))


@pytest.mark.parametrize("state", RevisionState)
def test_only_a_revision_that_was_brought_about_can_be_gone_back_to(state: RevisionState) -> None:
    target = RevisionRow(revision=1, state=state)
    found = release(ReleaseState.DEPLOYED, revision=2)
    if state in (RevisionState.DEPLOYED, RevisionState.SUPERSEDED):
        assert rule.begin_rollback(found, name="shop", wanted=1, target=target).rollback_of == 1
        return
    with pytest.raises(errors.IllegalTransition, match=f"revision 1 is {state}, and was never installed"):
        rule.begin_rollback(found, name="shop", wanted=1, target=target)


def test_a_revision_that_is_not_there_cannot_be_gone_back_to() -> None:
    found = release(ReleaseState.DEPLOYED, revision=2)
    with pytest.raises(errors.NotFound, match="revision 9 of release shop does not exist"):
        rule.begin_rollback(found, name="shop", wanted=9, target=None)
    with pytest.raises(errors.IllegalTransition, match="there is no former revision"):
        rule.begin_rollback(found, name="shop", wanted=0, target=None)


@pytest.mark.parametrize("kind", rule.STATES)
def test_a_failed_release_is_resumed_by_its_newest_plan(kind: OperationKind) -> None:
    newest = planned(kind, state=State.FAILED, revision=3, rollback_of=1, plan_of="p")
    found = release(ReleaseState.FAILED, revision=2, latest_revision=3)
    begun = rule.begin_resume(found, name="shop", newest=newest, options=Options())
    assert begun == Begun(kind=kind, former_state=ReleaseState.FAILED, revision=3, rollback_of=1, plan_of="p")


@pytest.mark.parametrize(
    ("found", "newest", "error", "message"),
    [
        (None, planned(), errors.NotFound, "release shop does not exist"),
        (release(ReleaseState.DEPLOYED), planned(), errors.IllegalTransition, "only a FAILED one can be resumed"),
        (release(ReleaseState.UNINSTALLING), planned(), errors.OperationActive, OPERATION_ID),
        (release(ReleaseState.FAILED), None, errors.IllegalTransition, "before anything was planned; apply it again"),
    ],
)
def test_nothing_else_is_resumed(found: Any, newest: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rule.begin_resume(found, name="shop", newest=newest, options=Options())


def test_a_lost_action_is_gone_on_after_only_where_that_is_accepted() -> None:
    lost = planned(state=State.FAILED, cause=json.dumps({"reason": "STEP_LOST", "message": "…"}))
    found = release(ReleaseState.FAILED, revision=2)
    with pytest.raises(errors.IllegalTransition, match="resume with accept_lost"):
        rule.begin_resume(found, name="shop", newest=lost, options=Options())
    begun = rule.begin_resume(found, name="shop", newest=lost, options=Options(accept_lost=True))
    assert begun.kind is UPGRADE


def held(*, live: bool, engine: str = ENGINE, lease_id: str = "other", known: bool = True) -> lease.Hold:
    found = lease.Lease(id=lease_id, engine=engine, is_live=live) if known else None
    return lease.Hold(kind="operation", id=OPERATION_ID, lease_id=lease_id, lease=found)


FREE = lease.Hold(kind="operation", id=OPERATION_ID)
DEAD, DEAD_ELSEWHERE, UNKNOWN = held(live=False), held(live=False, engine="b"), held(live=False, known=False)
TAKEN: list[Any] = [
    # state, hold, is_first, is_same_engine, takes the hold
    (State.PENDING, None, True, True, True),
    (State.PENDING, FREE, True, True, True),
    (State.PENDING, HOLD, True, True, False),
    (State.PENDING, DEAD, True, True, True),
    (State.PENDING, DEAD_ELSEWHERE, True, True, True),
    (State.RUNNING, HOLD, False, True, False),
    (State.RUNNING, DEAD, False, True, True),
    (State.RUNNING, DEAD_ELSEWHERE, False, False, True),
    (State.RUNNING, UNKNOWN, False, False, True),
    (State.RUNNING, None, False, False, True),
    (State.RUNNING, FREE, False, False, True),
]


@pytest.mark.parametrize(("state", "hold", "is_first", "is_same_engine", "takes"), TAKEN)
def test_what_nobody_alive_holds_is_taken(
    state: State, hold: lease.Hold | None, is_first: bool, is_same_engine: bool, takes: bool
) -> None:
    before = operation(state=state)
    running = [step(1, STATE, State.RUNNING), step(3, ACTION, State.RUNNING, 2)]
    acquired = rule.acquire(before, release_engine="", running=running, hold=hold, reporter=OWNER)
    begun = (WriteOperation(replace(before, state=State.RUNNING)),) if is_first else ()
    lost = () if is_same_engine else (MoveStep(path="db", ordinal=3, state=State.FAILED, attempt=2, message=LOST),)
    assert acquired.changes == (*lost, *begun, *((TakeHold(),) if takes else ()))
    assert (acquired.is_first, acquired.is_same_engine) == (is_first, is_same_engine)


@pytest.mark.parametrize("state", [State.PENDING, State.RUNNING])
def test_what_somebody_alive_holds_is_not_taken(state: State) -> None:
    with pytest.raises(errors.LeaseHeld, match="operation 1111"):
        rule.acquire(operation(state=state), release_engine="", running=(), hold=held(live=True), reporter=OWNER)


@pytest.mark.parametrize(
    "reporter", [lease.Reporter(7), lease.Reporter(7, lease.Lease(id="x", engine="", is_live=False))]
)
def test_nothing_is_taken_under_a_lease_that_is_over(reporter: lease.Reporter) -> None:
    with pytest.raises(errors.LeaseLost):
        rule.acquire(operation(state=State.PENDING), release_engine="", running=(), hold=None, reporter=reporter)


def test_nothing_is_taken_without_a_lease() -> None:
    with pytest.raises(errors.InvalidField, match="lease_token"):
        rule.acquire(
            operation(state=State.PENDING), release_engine="", running=(), hold=None, reporter=lease.Reporter()
        )


@pytest.mark.parametrize("state", [state for state in State if state.is_final])
def test_what_has_ended_is_not_taken(state: State) -> None:
    with pytest.raises(errors.IllegalTransition, match=f"it has ended as {state}"):
        rule.acquire(operation(state=state), release_engine="", running=(), hold=None, reporter=OWNER)


@pytest.mark.parametrize("state", [State.PENDING, State.RUNNING])
def test_a_release_that_keeps_files_on_another_engine_waits_for_that(state: State) -> None:
    asked = operation(state=state)
    with pytest.raises(errors.IllegalTransition, match="waits for engine b"):
        rule.acquire(asked, release_engine="b", running=(), hold=None, reporter=OWNER)
    assert rule.acquire(asked, release_engine=ENGINE, running=(), hold=None, reporter=OWNER).changes
    moving = replace(asked, options=Options(move_engine=True))
    assert rule.acquire(moving, release_engine="b", running=(), hold=None, reporter=OWNER).changes


@pytest.mark.parametrize(("now", "grace"), [(False, 30), (True, 0)])
def test_an_owner_that_lives_is_asked_to_end_its_operation(now: bool, grace: int) -> None:
    before = operation()
    asked = replace(before, is_cancel_requested=True, cancel_grace_seconds=grace)
    assert rule.cancel(before, hold=HOLD, now=now) == (WriteOperation(asked),)
    assert rule.cancel(asked, hold=HOLD, now=now) == ()


def test_a_second_cancellation_may_only_take_time_away() -> None:
    asked = operation(is_cancel_requested=True, cancel_grace_seconds=30)
    hurried = replace(asked, cancel_grace_seconds=0)
    assert rule.cancel(asked, hold=HOLD, now=True) == (WriteOperation(hurried),)
    assert rule.cancel(hurried, hold=HOLD, now=False) == ()


@pytest.mark.parametrize("hold", [None, FREE, DEAD, UNKNOWN])
@pytest.mark.parametrize("state", [State.PENDING, State.RUNNING])
def test_what_nobody_alive_holds_is_ended_at_once(hold: lease.Hold | None, state: State) -> None:
    assert rule.cancel(operation(state=state), hold=hold, now=False) is None


@pytest.mark.parametrize("state", [state for state in State if state.is_final])
def test_cancelling_what_has_ended_changes_nothing(state: State) -> None:
    assert rule.cancel(operation(state=state), hold=None, now=True) == ()


EXPIRED = replace(HOLD, lease=lease.Lease(id="lease-a", engine=ENGINE, is_live=False))


@pytest.mark.parametrize("hold", [None, FREE, DEAD, held(live=True)])
def test_only_the_owner_is_heard(hold: lease.Hold | None) -> None:
    with pytest.raises(errors.LeaseLost, match="is not held under it"):
        rule.check_owner(operation(), hold=hold, reporter=OWNER, starts=False)
    with pytest.raises(errors.LeaseLost):
        rule.check_owner(operation(), hold=HOLD, reporter=lease.Reporter(7), starts=False)
    rule.check_owner(operation(), hold=HOLD, reporter=OWNER, starts=True)


def test_an_owner_whose_lease_has_expired_may_tell_ends_but_starts_nothing() -> None:
    rule.check_owner(operation(), hold=EXPIRED, reporter=OWNER, starts=False)
    with pytest.raises(errors.LeaseLost, match="it is over"):
        rule.check_owner(operation(), hold=EXPIRED, reporter=OWNER, starts=True)
