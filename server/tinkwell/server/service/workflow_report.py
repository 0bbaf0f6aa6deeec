"""What workers say about actions: checked in full first, then applied in one transaction."""

import dataclasses
import math

from tinkwell.core import check, errors, transition, value
from tinkwell.core.kind import State
from tinkwell.server.store import action_status, workflow_step
from tinkwell.server.store.database import Database, Transaction

MAX_MESSAGE_CHARACTERS = 1_000
MAX_ATTEMPT = 2**31 - 1
# Exit codes of all platforms: signals may make them negative, and Windows has unsigned ones.
_LOWEST_EXIT_CODE = -(2**31)
_HIGHEST_EXIT_CODE = 2**32 - 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ActionReport:
    """A report as it came in. The action is named by its id, or by the names of its task and itself."""

    workflow_id: str
    action_id: str
    task_name: str
    action_name: str
    worker_id: str
    state: State
    attempt: int
    seconds: float
    message: str
    exit_code: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Reported:
    """What a report has come to. The revision is 0 for a repetition; a running action may have a deadline."""

    revision: int
    attempt: int
    remaining_seconds: float | None


async def apply(database: Database, report: ActionReport, *, actor: str) -> Reported:
    """Move an action on, and its workflow with it; a repeated report changes nothing.

    Raises `errors.InvalidField`, `errors.NotFound`, `errors.WrongWorker` and `errors.IllegalTransition`.
    """
    report = _parse(report)
    written = await database.write(lambda transaction: _apply(transaction, report), actor=actor)
    return dataclasses.replace(written.value, revision=written.revision)


def parse_message(field: str, text: str) -> str:
    """Check what a worker says: any text of a thousand characters, since a report must not fail for its wording."""
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise errors.InvalidField.of(
            field, f"has {len(text):,} characters; at most {MAX_MESSAGE_CHARACTERS:,} are allowed"
        )
    if "\0" in text:
        raise errors.InvalidField.of(field, "holds the NUL character, which cannot be stored")
    return text


def _parse(report: ActionReport) -> ActionReport:
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


async def _apply(transaction: Transaction, report: ActionReport) -> Reported:
    transaction.changed = False
    connection = transaction.connection
    locked = await workflow_step.lock(connection, report.workflow_id)
    if locked is None:
        raise errors.NotFound("WORKFLOW", report.workflow_id)
    action = transition.locate(
        locked.actions, action_id=report.action_id, task_name=report.task_name, action_name=report.action_name
    )
    changes = transition.report(
        locked.workflow,
        locked.actions,
        transition.Report(
            action_id=action.id,
            worker_id=report.worker_id,
            state=report.state,
            attempt=report.attempt,
            message=report.message,
            exit_code=report.exit_code,
        ),
    )
    if changes.steps:
        transaction.changed = True
        await workflow_step.write(connection, report.workflow_id, changes.steps)
        await action_status.append(connection, _entry(report, action, changes.attempt))
    remaining = await workflow_step.remaining_seconds(connection, action.id)
    return Reported(0, changes.attempt, remaining)


def _entry(report: ActionReport, action: transition.Action, attempt: int) -> action_status.NewStatus:
    return action_status.NewStatus(
        workflow_id=report.workflow_id,
        action_id=action.id,
        task_name=action.task_name,
        action_name=action.name,
        worker_id=action.worker_id,
        state=report.state,
        attempt=attempt,
        seconds=report.seconds,
        message=report.message,
        exit_code=report.exit_code,
    )
