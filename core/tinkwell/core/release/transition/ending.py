"""What the end of an operation changes, whoever causes it.

    how it ends               had no plan            had one                       an uninstallation that had one
    SUCCEEDED                 refused                release DEPLOYED              release UNINSTALLED, and deleted
                                                     its revision DEPLOYED         its revision UNINSTALLED
                                                     the former one SUPERSEDED
    FAILED, TIMEOUT,          release goes back,     release FAILED                release FAILED
    CANCELLED                 no revision            a PENDING revision FAILED     its revision stays

A TEST or a PLAN leaves its release and the revisions as they are, however it ends. Only a successful plan of the
installed revision stores the drift that it found. A successful operation that installs everything again clears it.

Unfinished nodes and steps end with the operation: PENDING nodes are SKIPPED, begun ones FAILED, PENDING steps are
CANCELLED, running ones CANCELLED, or TIMEOUT with the operation. An atomic operation that had a plan and did not
succeed is followed by another one, with its own deadline: a rollback to the DEPLOYED revision, or an uninstallation if
there is none.

The caller has locked the release's row and the operation's.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release import cause
from tinkwell.core.release.kinds import NodeKind, NodeState, OperationKind, ReleaseState, RevisionState
from tinkwell.core.release.report import FinishReport
from tinkwell.core.release.transition.change import (
    AddOperation,
    Change,
    Changes,
    LetGo,
    MoveNode,
    MoveRevision,
    MoveStep,
    StoreResult,
    WriteOperation,
    WriteRelease,
)
from tinkwell.core.release.transition.operation import STATES
from tinkwell.core.release.transition.row import NodeRow, OperationRow, ReleaseRow, RevisionRow, StepRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """The rows that the end of an operation changes besides its own.

    `revision` is the operation's, None if it has none. `nodes` and `steps` are all unfinished ones.
    """

    release: ReleaseRow
    revision: RevisionRow | None
    nodes: Sequence[NodeRow]
    steps: Sequence[StepRow]


def finish(operation: OperationRow, leftover: Leftover, finished: FinishReport) -> Changes:
    """Return what the owner's report of the end changes; `progress.report` uses it.

    Raises `errors.InvalidField` for an end that cannot be reported or that lacks a cause, and
    `errors.IllegalTransition` if an action still runs, or the reported end is not true.
    """
    _check_report(operation, finished)
    running = next((s for s in leftover.steps if s.state is State.RUNNING and s.kind.has_effects), None)
    if running is not None:
        raise _illegal(operation, f"step {running.ordinal} of {running.path} is RUNNING; report its end first")
    if finished.state is State.SUCCEEDED:
        _refuse_success(operation, leftover)
    if finished.state is State.CANCELLED and not operation.is_cancel_requested:
        raise _illegal(operation, "nobody asked to cancel it")
    why = {
        State.FAILED: "the operation has failed",
        State.TIMEOUT: "the operation's deadline passed",
        State.CANCELLED: "the operation was cancelled",
    }
    message = why.get(finished.state, "")
    told = (StoreResult(finished.result),) if finished.result else ()
    ends = _end(operation, leftover, finished.state, cause_text=finished.cause, message=message, is_owner=True)
    return (*told, *ends, *_drift(operation, leftover.release, finished))


def cancel(operation: OperationRow, leftover: Leftover, *, reason: str) -> Changes:
    """Return what the end of a cancelled operation changes that no living owner holds."""
    message = reason or "the operation was cancelled"
    text = cause.text(cause.Reason.CANCELLED, message)
    return _end(operation, leftover, State.CANCELLED, cause_text=text, message=message, is_owner=False)


def is_due(operation: OperationRow, hold: lease.Hold | None) -> bool:
    """Return whether an operation is past its deadline, or was cancelled, and no living owner holds it."""
    is_held = hold is not None and hold.is_live
    is_over = operation.remaining_seconds <= 0 or operation.is_cancel_requested
    return not operation.state.is_final and is_over and not is_held


def expire(operation: OperationRow, leftover: Leftover, *, cancel_reason: str = "") -> Changes:
    """Return what ending an operation changes, if `is_due`. `cancel_reason` is "" if none was given."""
    if operation.is_cancel_requested:
        return cancel(operation, leftover, reason=cancel_reason)
    not_taken = operation.state is State.PENDING
    message = (
        "no provisioner took the operation before its deadline" if not_taken else "the operation's deadline passed"
    )
    text = cause.text(cause.Reason.TIMEOUT, message)
    return _end(operation, leftover, State.TIMEOUT, cause_text=text, message=message, is_owner=False)


def follow_up_id(operation_id: str) -> str:
    """Return the id of the operation that undoes a failed one."""
    return str(uuid.uuid5(uuid.UUID(operation_id), "follow-up"))


def _check_report(operation: OperationRow, finished: FinishReport) -> None:
    if not finished.state.is_final:
        raise errors.InvalidField.of("state", f"{finished.state} is not a final state; give one")
    if finished.state is not State.SUCCEEDED and not finished.cause:
        raise errors.InvalidField.of("cause", f"is empty; say why the operation ended as {finished.state}")
    if finished.state is State.SUCCEEDED and finished.cause:
        raise errors.InvalidField.of("cause", "is given; leave it out, because an operation that SUCCEEDED has none")
    gives_out = operation.kind is not OperationKind.UNINSTALL and finished.state is State.SUCCEEDED
    if finished.result and operation.kind.changes_release and not gives_out:
        what = f"this is {operation.kind}, which ends as {finished.state}"
        raise errors.InvalidField.of("result", f"is given; a PLAN or a TEST has one, or an installation, and {what}")
    if operation.kind is OperationKind.PLAN and finished.state is State.SUCCEEDED and not finished.result:
        raise errors.InvalidField.of("result", "is empty; give the document of a PLAN that SUCCEEDED")


def _refuse_success(operation: OperationRow, leftover: Leftover) -> None:
    if not operation.has_plan:
        raise _illegal(operation, "it has no plan yet, so it cannot have SUCCEEDED")
    if leftover.nodes:
        node = leftover.nodes[0]
        raise _illegal(operation, f"{node.path} is {node.state}, so it cannot have SUCCEEDED")
    # A plan skips resources that are decided only when it is applied.
    skipped = 0 if operation.kind is OperationKind.PLAN else operation.skipped_nodes
    if lacking := operation.failed_nodes + skipped:
        raise _illegal(operation, f"{lacking} of its nodes were not installed or removed, so it cannot have SUCCEEDED")


def _end(
    operation: OperationRow, leftover: Leftover, state: State, *, cause_text: str, message: str, is_owner: bool
) -> Changes:
    """End an operation. It is written before its release, whose event refers to it."""
    resources = [node for node in leftover.nodes if node.kind is NodeKind.RESOURCE]
    begun = sum(node.state is not NodeState.PENDING for node in resources)
    ended = replace(
        operation,
        state=state,
        cause=cause_text,
        failed_nodes=operation.failed_nodes + begun,
        skipped_nodes=operation.skipped_nodes + len(resources) - begun,
    )
    release = _release_after(ended, leftover.release)
    moves = (WriteRelease(release),) if operation.kind.changes_release else ()
    following = _follow_up(ended, release, is_held=is_owner)
    is_passed_on = any(isinstance(change, AddOperation) and change.is_held for change in following)
    return (
        *(_end_step(step, state, message) for step in leftover.steps),
        *(_end_node(node, message) for node in leftover.nodes),
        *_revisions_after(ended, leftover),
        WriteOperation(ended),
        *moves,
        *following,
        *(() if is_passed_on else (LetGo(),)),
    )


def _end_step(step: StepRow, ended: State, message: str) -> MoveStep:
    is_late = step.state is State.RUNNING and ended is State.TIMEOUT
    return MoveStep(
        path=step.path,
        ordinal=step.ordinal,
        state=State.TIMEOUT if is_late else State.CANCELLED,
        attempt=step.attempt,
        message=message,
    )


def _end_node(node: NodeRow, message: str) -> MoveNode:
    if node.state is NodeState.PENDING:
        return MoveNode(path=node.path, state=NodeState.SKIPPED, message=f"not started: {message}")
    return MoveNode(path=node.path, state=NodeState.FAILED, message=f"not finished: {message}")


def _revisions_after(operation: OperationRow, leftover: Leftover) -> tuple[Change, ...]:
    """Return the changes of revisions; the former one is SUPERSEDED before another one is DEPLOYED."""
    release, revision = leftover.release, leftover.revision
    if not operation.has_plan or not operation.kind.changes_release:
        return ()
    if operation.kind is OperationKind.UNINSTALL:
        last = release.revision or release.latest_revision
        is_gone = operation.state is State.SUCCEEDED and last
        return (MoveRevision(last, RevisionState.UNINSTALLED),) if is_gone else ()
    if revision is None or revision.state is RevisionState.DEPLOYED:
        return ()
    if operation.state is not State.SUCCEEDED:
        return (MoveRevision(revision.revision, RevisionState.FAILED),)
    deployed = MoveRevision(revision.revision, RevisionState.DEPLOYED)
    return (MoveRevision(release.revision, RevisionState.SUPERSEDED), deployed) if release.revision else (deployed,)


def _release_after(operation: OperationRow, release: ReleaseRow) -> ReleaseRow:
    if not operation.kind.changes_release:
        return release
    if not operation.has_plan:
        return replace(release, state=operation.former_state)
    if operation.state is not State.SUCCEEDED:
        return replace(release, state=ReleaseState.FAILED)
    if operation.kind is OperationKind.UNINSTALL:
        return replace(release, state=ReleaseState.UNINSTALLED, is_deleted=True)
    return replace(release, state=ReleaseState.DEPLOYED, revision=operation.revision, drift="")


def _drift(operation: OperationRow, release: ReleaseRow, finished: FinishReport) -> Changes:
    is_known = operation.looks_for_drift and finished.state is State.SUCCEEDED
    if not is_known or finished.drift == release.drift:
        return ()
    return (WriteRelease(replace(release, drift=finished.drift)),)


def _follow_up(operation: OperationRow, release: ReleaseRow, *, is_held: bool) -> tuple[Change, ...]:
    """Return the operation that begins because an atomic operation did not succeed."""
    is_wanted = operation.options.atomic and operation.has_plan and operation.state is not State.SUCCEEDED
    if not is_wanted or operation.follows or operation.kind is OperationKind.UNINSTALL:
        return ()
    if not operation.kind.changes_release:
        return ()
    kind = OperationKind.ROLLBACK if release.revision else OperationKind.UNINSTALL
    row = OperationRow(
        id=follow_up_id(operation.id),
        kind=kind,
        options=replace(operation.options, atomic=False),
        former_state=ReleaseState.FAILED,
        rollback_of=release.revision,
        follows=operation.id,
        remaining_seconds=operation.options.timeout_seconds,
    )
    changing = replace(release, state=STATES[kind], operation_id=row.id)
    return (AddOperation(row, is_held), WriteRelease(changing))


def _illegal(operation: OperationRow, description: str) -> errors.IllegalTransition:
    return errors.IllegalTransition(f"operation {operation.id}", description)
