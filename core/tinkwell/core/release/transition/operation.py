"""What begins an operation, takes it, and asks for its end.

    operation        the release must be             and is then          goes back to
    INSTALL          not there, PLANNED              PENDING_INSTALL      FAILED
    INSTALL          FAILED, never DEPLOYED          PENDING_INSTALL      FAILED
    UPGRADE          DEPLOYED, FAILED                PENDING_UPGRADE      what it was
    ROLLBACK         DEPLOYED, FAILED                PENDING_ROLLBACK     what it was
    UNINSTALL        DEPLOYED, FAILED                UNINSTALLING         what it was
    a resumed one    FAILED                          as by its kind       FAILED
    PLAN             not there                       PLANNED              -
    PLAN             PLANNED, DEPLOYED, FAILED       what it was          -
    TEST, drift      DEPLOYED, FAILED, with a        what it was          -
                     revision

A release in any other state has an operation that has not ended. A release has at most one such operation, also if the
operation is a plan or a test, which do not change the release's state. "Goes back" is the state of the release if its
operation ends without a plan. Drift is a plan of the installed revision.

The caller has locked the release's row, and has first ended an operation of it that is due (`ending.expire`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release import cause
from tinkwell.core.release.kinds import OperationKind, ReleaseState, RevisionState
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import STEP_LOST
from tinkwell.core.release.transition.change import Changes, MoveStep, TakeHold, WriteOperation
from tinkwell.core.release.transition.row import OperationRow, PlannedRow, ReleaseRow, RevisionRow, StepRow

# Running actions get this time to end after a cancellation or at the deadline.
GRACE_SECONDS = 30

STATES: Mapping[OperationKind, ReleaseState] = {
    OperationKind.INSTALL: ReleaseState.PENDING_INSTALL,
    OperationKind.UPGRADE: ReleaseState.PENDING_UPGRADE,
    OperationKind.ROLLBACK: ReleaseState.PENDING_ROLLBACK,
    OperationKind.UNINSTALL: ReleaseState.UNINSTALLING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An operation that may begin, and the new state of its release; the other fields are as in `OperationRow`."""

    kind: OperationKind
    former_state: ReleaseState
    revision: int = 0
    rollback_of: int = 0
    plan_of: str = ""

    @property
    def release_state(self) -> ReleaseState:
        """The state of the release after the operation has begun."""
        return STATES.get(self.kind, self.former_state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquired:
    """The changes that take an operation; none if the caller has it already.

    `is_first`: no owner had it before. `is_same_engine`: the caller finds the runs that its former owner left.
    """

    changes: Changes
    is_first: bool
    is_same_engine: bool


def begin_apply(release: ReleaseRow | None) -> Begun:
    """Return what applying manifests begins; `release` is None if the name is free. Raises `errors.OperationActive`."""
    if release is None or release.state is ReleaseState.UNINSTALLED:
        return Begun(kind=OperationKind.INSTALL, former_state=ReleaseState.FAILED)
    _refuse_busy(release)
    if release.state is ReleaseState.PLANNED:
        return Begun(kind=OperationKind.INSTALL, former_state=ReleaseState.FAILED)
    kind = OperationKind.UPGRADE if release.revision else OperationKind.INSTALL
    return Begun(kind=kind, former_state=release.state)


def begin_install(release: ReleaseRow | None) -> Begun:
    """Return what installing a chart begins; `release` is None if the name is free.

    Raises `errors.OperationActive`, and `errors.AlreadyExists` if the release was deployed already.
    """
    begun = begin_apply(release)
    if release is not None and begun.kind is OperationKind.UPGRADE:
        advice = "upgrade that one, or uninstall it first; upgrade --install (install: true) takes a free name, too"
        raise errors.AlreadyExists("name", release.name, taken_by=f"release {release.id}", advice=advice)
    return begun


def begin_upgrade(release: ReleaseRow | None, *, name: str, install: bool) -> Begun:
    """Return what upgrading to a chart begins; with `install` the release need not exist.

    Raises `errors.NotFound` if there is no such release, and `errors.OperationActive`.
    """
    return begin_apply(release if install else _existing(release, name))


def begin_rollback(release: ReleaseRow | None, *, name: str, wanted: int, target: RevisionRow | None) -> Begun:
    """Return what a rollback begins. `target` is the revision that is `wanted`, None if there is none.

    For a `wanted` of 0, `target` is the last revision that was installed before the newest attempt. Raises
    `errors.NotFound` if there is no such release or revision, `errors.OperationActive`, and `errors.IllegalTransition`
    for a revision that was never installed.
    """
    found = _existing(release, name)
    if target is None and wanted:
        raise errors.NotFound("REVISION", f"{wanted} of release {name}")
    if target is None:
        raise errors.IllegalTransition(f"release {name}", "there is no former revision to go back to")
    if target.state not in (RevisionState.DEPLOYED, RevisionState.SUPERSEDED):
        why = f"revision {target.revision} is {target.state}, and was never installed as a whole; choose another one"
        raise errors.IllegalTransition(f"release {name}", why)
    return Begun(kind=OperationKind.ROLLBACK, former_state=found.state, rollback_of=target.revision)


def begin_uninstall(release: ReleaseRow | None, *, name: str) -> Begun:
    """Return what an uninstallation begins.

    Raises `errors.NotFound` if there is no such release, and `errors.OperationActive`.
    """
    return Begun(kind=OperationKind.UNINSTALL, former_state=_existing(release, name).state)


def begin_resume(release: ReleaseRow | None, *, name: str, newest: OperationRow | None, options: Options) -> Begun:
    """Return what the resumption of a failed release begins.

    `newest` is the newest of its operations that had a plan, None if none had one: the new operation uses its
    documents, and is bound to the plan that it applied, if any. Raises `errors.NotFound` if there is no such release,
    `errors.OperationActive`, and `errors.IllegalTransition` if the release has not failed, nothing was planned, or an
    action was lost and `options` do not accept that.
    """
    found = _existing(release, name)
    if found.state is not ReleaseState.FAILED:
        raise errors.IllegalTransition(f"release {name}", f"it is {found.state}; only a FAILED one can be resumed")
    if newest is None:
        why = "it failed before anything was planned; apply it again"
        raise errors.IllegalTransition(f"release {name}", why)
    if cause.is_lost(newest.cause) and not options.accept_lost:
        why = "an action of it may still run on another engine; make sure that it does not, and resume with accept_lost"
        raise errors.IllegalTransition(f"release {name}", why)
    return Begun(
        kind=newest.kind,
        former_state=ReleaseState.FAILED,
        revision=newest.revision,
        rollback_of=newest.rollback_of,
        plan_of=newest.plan_of,
    )


def begin_test(release: ReleaseRow | None, *, name: str) -> Begun:
    """Return what a test begins; `rollback_of` is the revision whose tests are run.

    Raises `errors.NotFound` if there is no such release, `errors.OperationActive`, and `errors.IllegalTransition` if
    the release never had a plan.
    """
    return _begin_looking(OperationKind.TEST, release, name=name)


def begin_plan(release: ReleaseRow | None, *, name: str, has_source: bool) -> Begun:
    """Return what a plan begins; `release` is None if the name is free.

    With a source it is the plan of an installation or an upgrade; without one it looks at the installed revision, which
    is `rollback_of`. Raises `errors.OperationActive`, and without a source the errors of `begin_test`.
    """
    if not has_source:
        return _begin_looking(OperationKind.PLAN, release, name=name)
    if release is None or release.state is ReleaseState.UNINSTALLED:
        return Begun(kind=OperationKind.PLAN, former_state=ReleaseState.PLANNED)
    _refuse_busy(release)
    return Begun(kind=OperationKind.PLAN, former_state=release.state)


def begin_apply_plan(release: ReleaseRow | None, planned: PlannedRow) -> Begun:
    """Return what the application of a plan begins; `release` has the plan's name, None if the name is free.

    Raises `errors.OperationActive`, `errors.IllegalTransition` for a plan that can never be applied, and
    `errors.PlanStale` if the release has changed since the plan was made.
    """
    plan = planned.operation
    if plan.kind is not OperationKind.PLAN or plan.looks_for_drift:
        what = "is about the installed revision" if plan.looks_for_drift else f"is of kind {plan.kind}"
        why = f"it {what}, and there is nothing in it to apply; give a plan of a chart or of manifests"
        raise errors.IllegalTransition(f"operation {plan.id}", why)
    if plan.state is not State.SUCCEEDED:
        why = f"it is {plan.state}, and only a plan that SUCCEEDED can be applied"
        raise errors.IllegalTransition(f"plan {plan.id}", why)
    if release is None or release.id != planned.release_id:
        raise errors.PlanStale(plan.id, "its release no longer exists")
    _refuse_busy(release)
    if planned.changed_by:
        raise errors.PlanStale(plan.id, f"operation {planned.changed_by} has changed its release since")
    return begin_apply(release)


def acquire(
    operation: OperationRow,
    *,
    release_engine: str,
    running: Sequence[StepRow],
    hold: lease.Hold | None,
    reporter: lease.Reporter,
) -> Acquired:
    """Return what taking an operation under the reporter's lease changes; `running` are all of its RUNNING steps.

    If the new owner's engine is another one, the results of running steps with effects are lost. Raises
    `errors.InvalidField` without a lease, `errors.IllegalTransition` if the operation has ended or its release belongs
    to another engine, `errors.LeaseLost` and `errors.LeaseHeld`.
    """
    if not reporter.token:
        raise errors.InvalidField.of("lease_token", "an operation is taken under a lease; acquire one first")
    if operation.state.is_final:
        raise ended(operation)
    is_first = operation.state is State.PENDING
    verdict = lease.judge_start(hold, reporter, is_again=not is_first)
    engine = reporter.lease.engine if reporter.lease is not None else ""
    if release_engine not in ("", engine) and not operation.options.move_engine:
        why = f"it waits for engine {release_engine}, on which its release keeps files; another one needs move_engine"
        raise errors.IllegalTransition(f"operation {operation.id}", why)
    is_own = hold is not None and bool(hold.lease_id) and hold.lease_id == reporter.lease_id
    is_same_engine = is_first or is_own or verdict is lease.Verdict.ADOPTED
    changes: Changes = () if is_own else (TakeHold(),)
    if is_first:
        changes = (WriteOperation(replace(operation, state=State.RUNNING)), *changes)
    if not is_same_engine:
        changes = (*(_lose(step) for step in running if step.kind.has_effects), *changes)
    return Acquired(changes=changes, is_first=is_first, is_same_engine=is_same_engine)


def cancel(operation: OperationRow, *, hold: lease.Hold | None, now: bool) -> Changes | None:
    """Return what a cancellation changes; None if no living owner holds it: end it at once (`ending.cancel`).

    `now` gives running actions no time. An operation that has ended stays as it is.
    """
    if operation.state.is_final:
        return ()
    if hold is None or not hold.is_live:
        return None
    grace = 0 if now else GRACE_SECONDS
    if operation.is_cancel_requested and operation.cancel_grace_seconds <= grace:
        return ()
    return (WriteOperation(replace(operation, is_cancel_requested=True, cancel_grace_seconds=grace)),)


def check_owner(operation: OperationRow, *, hold: lease.Hold | None, reporter: lease.Reporter, starts: bool) -> None:
    """Raise `errors.LeaseLost` unless the reporter's lease holds the operation, and is alive if anything starts."""
    if hold is None or not hold.lease_id or hold.lease_id != reporter.lease_id:
        raise errors.LeaseLost(reporter.token, f"operation {operation.id} is not held under it")
    if starts and not hold.is_live:
        raise errors.LeaseLost(reporter.token)


def check_running(operation: OperationRow) -> None:
    """Raise `errors.IllegalTransition` unless the operation is RUNNING."""
    if operation.state.is_final:
        raise ended(operation)
    if operation.state is State.PENDING:
        raise errors.IllegalTransition(f"operation {operation.id}", "it is PENDING; acquire it first")


def ended(operation: OperationRow) -> errors.IllegalTransition:
    """Build the error for an operation that has ended."""
    return errors.IllegalTransition(f"operation {operation.id}", f"it has ended as {operation.state}; that is final")


def _lose(step: StepRow) -> MoveStep:
    why = "its owner is dead, and its engine is another one, so its result is lost"
    return MoveStep(
        path=step.path,
        ordinal=step.ordinal,
        state=State.FAILED,
        attempt=step.attempt,
        message=f"{STEP_LOST}: {why}",
    )


def _begin_looking(kind: OperationKind, release: ReleaseRow | None, *, name: str) -> Begun:
    found = _existing(release, name)
    number = found.revision or found.latest_revision
    if not number:
        why = "nothing of it was ever installed, so there is nothing to look at; install it first"
        raise errors.IllegalTransition(f"release {name}", why)
    return Begun(kind=kind, former_state=found.state, rollback_of=number)


def _existing(release: ReleaseRow | None, name: str) -> ReleaseRow:
    """Return a release whose installation was begun, and which has no unfinished operation."""
    if release is None or release.state in (ReleaseState.PLANNED, ReleaseState.UNINSTALLED):
        raise errors.NotFound("RELEASE", name)
    _refuse_busy(release)
    return release


def _refuse_busy(release: ReleaseRow) -> None:
    if release.is_busy:
        active = release.active_operation_id or release.operation_id
        raise errors.OperationActive(release.name, operation_id=active)
