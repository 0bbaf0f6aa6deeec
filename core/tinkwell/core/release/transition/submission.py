"""What the plan of an operation changes: before its submission the operation changes nothing, and afterwards it may.

The plan of a TEST or a PLAN changes only the operation itself.
"""

from dataclasses import dataclass, replace

from tinkwell.core import errors
from tinkwell.core.lease import lease
from tinkwell.core.release.kinds import NodeTask, OperationKind, Phase, RevisionState
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.transition import operation as rule
from tinkwell.core.release.transition.change import (
    AddNodes,
    AddRevision,
    Change,
    Changes,
    MoveRevision,
    WriteOperation,
    WriteRelease,
)
from tinkwell.core.release.transition.row import OperationRow, ReleaseRow, RevisionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A plan, which is known to have no loop, and its context.

    `resumed` is the revision that the operation resumes, None for none. `is_deployed_one`: source, manifest and late
    pointers are those of the DEPLOYED revision. `stored_plan` is the text of the plan that the operation already has,
    "" for none, and `plan_text` the text of this one.
    """

    release: ReleaseRow
    operation: OperationRow
    plan: Plan
    plan_text: str
    stored_plan: str = ""
    resumed: RevisionRow | None = None
    is_deployed_one: bool = False
    has_plugs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A plan that was accepted: the revision that is being installed, 0 for none; a repetition has no changes."""

    revision: int
    changes: Changes


def submit_plan(submission: Submission, *, hold: lease.Hold | None, reporter: lease.Reporter) -> Accepted:
    """Return what a plan changes.

    Raises `errors.LeaseLost`, `errors.InvalidField` for a plan that does not fit the operation, and
    `errors.IllegalTransition` if the operation has ended, is to end, or has another plan.
    """
    operation = submission.operation
    rule.check_running(operation)
    rule.check_owner(operation, hold=hold, reporter=reporter, starts=True)
    if operation.has_plan:
        if submission.stored_plan != submission.plan_text:
            raise _illegal(operation, "it has another plan already; go on with that plan")
        return Accepted(revision=operation.revision, changes=())
    _refuse_late(operation)
    _check_plan(operation, submission.plan)
    revision, births = _revision(submission)
    planned = replace(operation, revision=revision, phase=Phase.APPLY, total_nodes=len(submission.plan.resources))
    release = replace(
        submission.release,
        latest_revision=max(submission.release.latest_revision, revision),
        engine=_engine(submission, reporter),
    )
    moves = () if release == submission.release else (WriteRelease(release),)
    changes = (*births, WriteOperation(planned), AddNodes(tuple(submission.plan.real)), *moves)
    return Accepted(revision=revision, changes=changes)


def _refuse_late(operation: OperationRow) -> None:
    if operation.is_cancel_requested:
        raise _illegal(operation, "it was cancelled, so it accepts no plan; finish it")
    if operation.remaining_seconds <= 0:
        raise _illegal(operation, "its deadline has passed, so it accepts no plan; finish it")


def _check_plan(operation: OperationRow, plan: Plan) -> None:
    removed = {node.path for node in plan.nodes if node.task is NodeTask.REMOVE}
    for node in plan.nodes:
        if node.path in removed:
            continue
        if operation.kind is OperationKind.UNINSTALL:
            raise errors.InvalidField.of("plan", f"installs {node.path}, but an UNINSTALL only removes")
        early = next((path for path in node.after if path in removed), None)
        if early is not None:
            why = f"installs {node.path} after it removes {early}, but removals come after all that is installed"
            raise errors.InvalidField.of("plan", why)


def _revision(submission: Submission) -> tuple[int, tuple[Change, ...]]:
    """Return the revision that is being installed, and its changes."""
    operation, release, resumed = submission.operation, submission.release, submission.resumed
    if operation.kind is OperationKind.UNINSTALL or not operation.kind.changes_release:
        return 0, ()
    if resumed is not None:
        # A DEPLOYED revision stays DEPLOYED: only its second installation has failed.
        failed = resumed.state is RevisionState.FAILED
        return resumed.revision, (MoveRevision(resumed.revision, RevisionState.PENDING),) if failed else ()
    if submission.is_deployed_one and release.revision:
        return release.revision, ()
    born = release.latest_revision + 1
    return born, (AddRevision(born, operation.rollback_of),)


def _engine(submission: Submission, reporter: lease.Reporter) -> str:
    """Return the engine that the release belongs to from now on; a release that needed its engine may still need it."""
    if submission.has_plugs and submission.operation.kind.changes_release and reporter.lease is not None:
        return reporter.lease.engine
    return submission.release.engine


def _illegal(operation: OperationRow, description: str) -> errors.IllegalTransition:
    return errors.IllegalTransition(f"operation {operation.id}", description)
