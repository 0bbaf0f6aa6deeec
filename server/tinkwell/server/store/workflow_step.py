"""Moves workflows: locks one with its actions, and writes the steps that the rules have decided on.

Whoever moves a workflow locks its row first. The lock leaves the row's key alone, so that output and documents, which
refer to it, need not wait. Times are the database's, taken when a step is written.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, assert_never

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import document, transition
from tinkwell.core.kind import State

LOCK = sqlalchemy.text("""
    SELECT id FROM workflow WHERE id = CAST(:id AS uuid) AND deleted_at IS NULL FOR NO KEY UPDATE
""")
STATES = sqlalchemy.text("""
    WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS at)
    SELECT w.state AS workflow_state,
           CAST(extract(epoch FROM w.deadline_at - moment.at) AS double precision) AS workflow_remaining,
           CAST(a.id AS text) AS id, a.action_index, a.task_name, a.name, CAST(a.worker_id AS text) AS worker_id,
           a.state, a.attempt,
           CASE WHEN a.state = 'RUNNING' THEN a.on_timeout ELSE '{}' END AS on_timeout,
           CASE WHEN a.state = 'RUNNING' THEN a.on_failure ELSE '{}' END AS on_failure,
           CASE WHEN a.state = 'RUNNING' AND a.timeout_seconds > 0
                THEN CAST(extract(epoch FROM a.started_at + make_interval(secs => a.timeout_seconds) - moment.at)
                          AS double precision)
            END AS remaining_seconds
      FROM workflow w CROSS JOIN moment LEFT JOIN action a ON a.workflow_id = w.id
     WHERE w.id = CAST(:id AS uuid)
     ORDER BY a.action_index
""")
_REMAINING = sqlalchemy.text("""
    SELECT CAST(extract(epoch FROM deadline_at - clock_timestamp()) AS double precision)
      FROM action WHERE id = CAST(:id AS uuid) AND state = 'RUNNING'
""")
_ELAPSED = sqlalchemy.text("""
    SELECT CAST(extract(epoch FROM clock_timestamp() - started_at) AS double precision)
      FROM action WHERE id = CAST(:id AS uuid)
""")

_START_WORKFLOW = sqlalchemy.text("""
    UPDATE workflow
       SET state = 'RUNNING', started_at = moment.at,
           deadline_at = CASE WHEN global_timeout_seconds > 0
                              THEN moment.at + make_interval(secs => global_timeout_seconds) END
      FROM (SELECT clock_timestamp() AS at) moment
     WHERE id = CAST(:workflow_id AS uuid)
""")
_START_ACTION = sqlalchemy.text("""
    UPDATE action a
       SET state = 'RUNNING', attempt = :attempt, message = :message, exit_code = NULL,
           started_at = moment.at, finished_at = NULL,
           -- LEAST leaves out whichever limit there is not.
           deadline_at = least(CASE WHEN a.timeout_seconds > 0
                                    THEN moment.at + make_interval(secs => a.timeout_seconds) END,
                               w.deadline_at)
      FROM (SELECT clock_timestamp() AS at) moment, workflow w
     WHERE a.id = CAST(:action_id AS uuid) AND w.id = a.workflow_id
""")
_END_ACTION = sqlalchemy.text("""
    UPDATE action
       SET state = :state, message = :message, exit_code = :exit_code, finished_at = clock_timestamp()
     WHERE id = CAST(:action_id AS uuid)
""")
_RETRY_ACTION = sqlalchemy.text("""
    UPDATE action
       SET state = 'PENDING', message = :message, exit_code = :exit_code, deadline_at = NULL,
           retry_at = clock_timestamp() + make_interval(secs => :delay_seconds)
     WHERE id = CAST(:action_id AS uuid)
""")
_ADVANCE_WORKFLOW = sqlalchemy.text("""
    UPDATE workflow SET completed_actions = :completed_actions WHERE id = CAST(:workflow_id AS uuid)
""")
_END_WORKFLOW = sqlalchemy.text("""
    UPDATE workflow
       SET state = :state, completed_actions = :completed_actions, cause = CAST(:cause AS jsonb),
           finished_at = clock_timestamp()
     WHERE id = CAST(:workflow_id AS uuid)
""")


@dataclasses.dataclass(frozen=True, slots=True)
class Locked:
    """A workflow that nobody else moves until the transaction ends, with its actions in order."""

    workflow: transition.Workflow
    actions: Sequence[transition.Action]


async def lock(connection: AsyncConnection, workflow_id: str) -> Locked | None:
    """Lock a live workflow and return its state; None if there is none."""
    if (await connection.execute(LOCK, {"id": workflow_id})).first() is None:
        return None
    # A statement of its own, because it must see what was committed while the one above waited.
    rows = (await connection.execute(STATES, {"id": workflow_id})).all()
    found = transition.Workflow(
        id=workflow_id, state=State(rows[0].workflow_state), remaining_seconds=rows[0].workflow_remaining
    )
    return Locked(found, [_action(row) for row in rows if row.id is not None])


async def remaining_seconds(connection: AsyncConnection, action_id: str) -> float | None:
    """Return the seconds to a running action's deadline; None where there is no deadline, or it does not run."""
    remaining: float | None = (await connection.execute(_REMAINING, {"id": action_id})).scalar()
    return remaining


async def elapsed_seconds(connection: AsyncConnection, action_id: str) -> float:
    """Return the seconds since an action, which must have been started, was started last."""
    elapsed: float = (await connection.execute(_ELAPSED, {"id": action_id})).scalar_one()
    return elapsed


async def write(connection: AsyncConnection, workflow_id: str, steps: Sequence[transition.Step]) -> None:
    """Write steps in their order, which is the order of their events."""
    for _, group in itertools.groupby(steps, type):
        statements = [_statement(workflow_id, step) for step in group]
        # Steps of one kind, such as the cancellation of hundreds of actions, go to the database in one go.
        await connection.execute(statements[0][0], [values for _, values in statements])


def _statement(workflow_id: str, step: transition.Step) -> tuple[sqlalchemy.TextClause, dict[str, object]]:
    match step:
        case transition.StartWorkflow():
            return _START_WORKFLOW, {"workflow_id": workflow_id}
        case transition.StartAction():
            return _START_ACTION, dataclasses.asdict(step)
        case transition.EndAction():
            return _END_ACTION, dataclasses.asdict(step)
        case transition.RetryAction():
            return _RETRY_ACTION, dataclasses.asdict(step)
        case transition.AdvanceWorkflow():
            return _ADVANCE_WORKFLOW, {"workflow_id": workflow_id, "completed_actions": step.completed_actions}
        case transition.EndWorkflow():
            return _END_WORKFLOW, {
                "workflow_id": workflow_id,
                "state": step.state,
                "completed_actions": step.completed_actions,
                "cause": document.dump_json(step.cause.as_document()) if step.cause is not None else None,
            }
        case _:
            assert_never(step)


def _action(row: sqlalchemy.Row[Any]) -> transition.Action:
    return transition.Action(
        id=row.id,
        index=row.action_index,
        task_name=row.task_name,
        name=row.name,
        worker_id=row.worker_id,
        state=State(row.state),
        attempt=row.attempt,
        on_timeout=tuple(row.on_timeout),
        on_failure=tuple(row.on_failure),
        remaining_seconds=row.remaining_seconds,
    )
