"""Ends workflows and actions whose deadline has passed, or whose owner's lease is over, when a caller asks.

All times come from the clock of the database.
"""

import dataclasses

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import change, transition
from tinkwell.core.workflow.record import ActionStatus
from tinkwell.server.database.database import Transaction
from tinkwell.server.workflow.service import recovery as workflow_recovery
from tinkwell.server.workflow.store import action_status, hold
from tinkwell.server.workflow.store import step as workflow_step


@dataclasses.dataclass(frozen=True, slots=True)
class Expired:
    """The result of an expiry check. `revision` is 0 if nothing changed.

    `remaining_seconds` is the time until the next deadline or expiry; it is None if nothing changes by the passing of
    time alone. `has_lost` says that an attempt was lost.
    """

    revision: int
    remaining_seconds: float | None
    has_lost: bool = False


async def expire(
    recovery: workflow_recovery.WorkflowRecovery, workflow_id: str, *, deadlines_only: bool, actor: str
) -> Expired:
    """End what is past its deadline in a workflow, and its lost attempts. Raises `errors.NotFound`.

    If the workflow is over, release its machines whose lease is over. With `deadlines_only` the lost attempts stay, so
    that another owner may still take them over.
    """
    written = await recovery.run(
        lambda transaction, prepared: _expire(transaction, workflow_id, prepared, deadlines_only=deadlines_only),
        actor=actor,
    )
    return dataclasses.replace(written.value, revision=written.revision)


async def write(
    transaction: Transaction,
    locked: workflow_step.Locked,
    changes: change.Changes,
    prepared: workflow_recovery.Prepared | None,
) -> None:
    """Write the steps of an expiry, and add a journal entry for each attempt that it ended."""
    connection, workflow_id = transaction.connection, locked.workflow.id
    transaction.changed = True
    await workflow_recovery.write(
        transaction, workflow_step.Move(workflow_id=workflow_id, steps=changes.steps), prepared
    )
    if any(held.is_lost for held in locked.holds.values()):
        # The workflow has ended, and no living owner will release the machines that it still holds.
        await hold.clear_dead(connection, workflow_id)
    for step in _ended_attempts(changes):
        action = transition.locate(locked.actions, action_id=step.action_id)
        await action_status.append(
            transaction,
            ActionStatus(
                workflow_id=workflow_id,
                action_id=action.id,
                task_name=action.task_name,
                action_name=action.name,
                worker_id=action.worker_id,
                state=step.state,
                attempt=action.attempt,
                seconds=await workflow_step.elapsed_seconds(transaction, action.id),
                message=step.message,
                exit_code=None,
            ),
        )


def _ended_attempts(changes: change.Changes) -> list[change.EndAction | change.RetryAction]:
    """Return the steps that end an attempt for another reason than a cancellation."""
    ends = (step for step in changes.steps if isinstance(step, change.EndAction | change.RetryAction))
    return [step for step in ends if step.state is not State.CANCELLED]


async def _expire(
    transaction: Transaction,
    workflow_id: str,
    prepared: workflow_recovery.Prepared | None,
    *,
    deadlines_only: bool,
) -> Expired:
    transaction.changed = False
    locked = await workflow_step.lock(transaction, workflow_id)
    if locked is None:
        if not await hold.clear_dead(transaction.connection, workflow_id):
            raise errors.NotFound("WORKFLOW", workflow_id)
        return Expired(0, None)
    if locked.workflow.state.is_final and any(not held.is_live for held in locked.holds.values()):
        await hold.clear_dead(transaction.connection, workflow_id)
    actions = locked.actions
    if deadlines_only:
        actions = [dataclasses.replace(action, is_lost=False) for action in actions]
    changes = transition.expire(locked.workflow, actions)
    if not changes.steps:
        return Expired(0, transition.remaining_seconds(locked.workflow, locked.actions))
    await write(transaction, locked, changes, prepared)
    has_lost = any(step.state is State.FAILED for step in _ended_attempts(changes))
    # A workflow whose attempt is repeated goes on, and may be past a deadline of its own.
    after = await workflow_step.lock(transaction, workflow_id)
    remaining = transition.remaining_seconds(after.workflow, after.actions) if after is not None else None
    return Expired(0, remaining, has_lost)
