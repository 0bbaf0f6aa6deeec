"""Reports of workers about actions: checked in full, then applied in one transaction."""

import dataclasses
import math

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.value import check
from tinkwell.core.value import parse as value
from tinkwell.core.workflow import change, transition
from tinkwell.core.workflow.hold import MachineHold, is_vacant
from tinkwell.core.workflow.record import ActionStatus
from tinkwell.server.database.database import Transaction
from tinkwell.server.workflow.service import expiry
from tinkwell.server.workflow.service import recovery as workflow_recovery
from tinkwell.server.workflow.store import action_status, step

MAX_MESSAGE_CHARACTERS = 1_000
MAX_ATTEMPT = 2**31 - 1
# The exit codes of all platforms: signals may make them negative, and those of Windows are unsigned.
_LOWEST_EXIT_CODE = -(2**31)
_HIGHEST_EXIT_CODE = 2**32 - 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ActionReport(ActionStatus):
    """A report as a worker sent it. The action is named by its id, or by the names of its task and itself."""

    lease_token: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Reported:
    """The result of a report.

    `revision` is 0 for a repeated report. `state` is the action's state after the report. A running action may have a
    deadline. `data_version` is the latest version of the workflow's shared document, 0 without one.
    """

    revision: int
    attempt: int
    remaining_seconds: float | None
    state: State
    data_version: int


class AttemptLost(errors.IllegalTransition):
    """The attempt that a worker wanted to take up is lost. The loss has been written."""


async def apply(recovery: workflow_recovery.WorkflowRecovery, report: ActionReport, *, actor: str) -> Reported:
    """Apply a report that was parsed to its action and workflow. A repeated report changes nothing.

    Raises `errors.NotFound`, `errors.WrongWorker`, `errors.IllegalTransition`, and `errors.LeaseHeld` and
    `errors.LeaseLost` by the rules of `tinkwell.core.lease.lease`.
    """
    written = await recovery.run(lambda transaction, prepared: _apply(transaction, report, prepared), actor=actor)
    if isinstance(written.value, AttemptLost):
        # Raised only here, outside of the transaction, so that the loss stays written.
        raise written.value
    return dataclasses.replace(written.value, revision=written.revision)


def parse_message(field: str, text: str) -> str:
    """Check the length of a worker's message. Any wording is accepted, so that no report fails for it."""
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise errors.InvalidField.of(
            field, f"has {len(text):,} characters; at most {MAX_MESSAGE_CHARACTERS:,} are allowed"
        )
    if "\0" in text:
        raise errors.InvalidField.of(field, "holds the NUL character, which cannot be stored")
    return text


def parse(report: ActionReport) -> ActionReport:
    """Check everything about a report that needs no look at the database. Raises `errors.InvalidField`."""
    checks = check.Checks()
    parsed = dataclasses.replace(
        report,
        workflow_id=checks.take(value.parse_uuid, "workflow_id", report.workflow_id),
        action_id=report.action_id and checks.take(value.parse_uuid, "action_id", report.action_id),
        worker_id=checks.take(value.parse_uuid, "worker_id", report.worker_id),
        attempt=checks.take(value.parse_int_range, "attempt", report.attempt, low=0, high=MAX_ATTEMPT),
        message=checks.take(parse_message, "message", report.message),
    )
    if not (math.isfinite(report.seconds) and report.seconds >= 0):
        checks.refuse("seconds", "must be a finite number that is not negative")
    if report.exit_code is not None and not _LOWEST_EXIT_CODE <= report.exit_code <= _HIGHEST_EXIT_CODE:
        checks.refuse("exit_code", f"must be from {_LOWEST_EXIT_CODE:,} to {_HIGHEST_EXIT_CODE:,}")
    checks.finish()
    return parsed


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The effect of a report on its workflow. Without steps, the report repeats the present state."""

    action: change.Action
    changes: change.Changes
    reporter: lease.Reporter
    move: step.Move
    entry: ActionStatus
    data_version: int

    @property
    def reported(self) -> Reported:
        """The response for when this is written, with a revision of 0."""
        starts = (each for each in self.changes.steps if isinstance(each, change.StartAction))
        left = next((start.deadline_seconds for start in starts), None)
        state = transition.state_after(self.action, self.changes)
        return Reported(0, self.changes.attempt, left, state, self.data_version)


def decide(locked: step.Locked, report: ActionReport) -> Decision:
    """Decide on a report by the rules. Raises what `apply` raises."""
    action = transition.locate(
        locked.actions, action_id=report.action_id, task_name=report.task_name, action_name=report.action_name
    )
    heard = transition.Report(
        action_id=action.id,
        worker_id=report.worker_id,
        state=report.state,
        attempt=report.attempt,
        message=report.message,
        exit_code=report.exit_code,
    )
    changes = transition.report(locked.workflow, locked.actions, heard)
    reporter = lease.Reporter(report.lease_token, locked.lease)
    vacated = _check_lease(locked.holds.get(action.worker_id), action, reporter, changes) if changes.steps else ""
    return Decision(
        action,
        changes,
        reporter,
        move=step.Move(
            workflow_id=locked.workflow.id, steps=changes.steps, lease_id=reporter.lease_id, vacated=vacated
        ),
        entry=dataclasses.replace(
            report,
            action_id=action.id,
            task_name=action.task_name,
            action_name=action.name,
            attempt=changes.attempt,
        ),
        data_version=locked.data_version,
    )


async def _apply(
    transaction: Transaction, report: ActionReport, prepared: workflow_recovery.Prepared | None
) -> Reported | AttemptLost:
    transaction.changed = False
    locked = await step.lock(transaction, report.workflow_id, lease_token=report.lease_token)
    if locked is None:
        raise errors.NotFound("WORKFLOW", report.workflow_id)
    decided = decide(locked, report)
    if not decided.changes.steps:
        return await _repeat(transaction, locked, decided.action, decided.reporter, prepared)
    transaction.changed = True
    await workflow_recovery.write(transaction, decided.move, prepared)
    await action_status.append(transaction, decided.entry)
    return decided.reported


def _check_lease(
    hold: MachineHold | None, action: change.Action, reporter: lease.Reporter, changes: change.Changes
) -> str:
    """Check a report against the hold of its machine. Return the id of an action that has left the machine.

    Raises `errors.LeaseHeld` and `errors.LeaseLost`.
    """
    if action.state is State.PENDING:
        lease.judge_start(hold, reporter, is_again=False)
        return ""
    lease.check_end(hold, reporter)
    return action.id if hold is not None and hold.action_id and is_vacant(action, changes.steps) else ""


async def _repeat(
    transaction: Transaction,
    locked: step.Locked,
    action: change.Action,
    reporter: lease.Reporter,
    prepared: workflow_recovery.Prepared | None,
) -> Reported | AttemptLost:
    """Answer a report that repeats the present state.

    A repeated start may also mean that a worker takes an attempt up.
    """
    if action.state is State.RUNNING:
        hold = locked.holds.get(action.worker_id)
        verdict = lease.judge_start(hold, reporter, is_again=True, whatever_the_engine=action.reboots)
        if verdict is lease.Verdict.LOST:
            lost = transition.lose(locked.workflow, locked.actions, action)
            await expiry.write(transaction, locked, lost, prepared)
            return AttemptLost(
                f"action {action.id}",
                f"{action.title}: attempt {action.attempt} is lost, since it ran on another engine",
            )
        if verdict is lease.Verdict.ADOPTED:
            await step.adopt(transaction, locked.workflow.id, action, lease_id=reporter.lease_id)
    remaining = transition.action_seconds(locked.workflow, action)
    return Reported(0, action.attempt, remaining, action.state, locked.data_version)
