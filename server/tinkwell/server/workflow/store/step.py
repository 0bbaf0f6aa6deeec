"""Moves workflows: locks one with its actions, and writes the steps that the rules have decided on.

Whoever moves a workflow locks its row first. The lock leaves the row's key alone, so that output and documents, which
refer to it, need not wait. Times are the database's, taken when a step is written.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.value import document
from tinkwell.core.workflow import transition
from tinkwell.core.workflow.hold import MachineHold

LOCK = sqlalchemy.text("""
    SELECT id FROM workflow WHERE id = CAST(:id AS uuid) AND deleted_at IS NULL FOR NO KEY UPDATE
""")
STATES = sqlalchemy.text("""
    WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS at)
    SELECT CAST(w.id AS text) AS workflow_id, w.state AS workflow_state,
           CAST(extract(epoch FROM w.deadline_at - moment.at) AS double precision) AS workflow_remaining,
           w.on_timeout AS workflow_on_timeout, w.on_failure AS workflow_on_failure,
           CAST(a.id AS text) AS id, a.action_index, a.task_name, a.name, CAST(a.worker_id AS text) AS worker_id,
           a.state, a.attempt, a.retries, a.retry_delay_seconds, a.reboots,
           CASE WHEN a.state = 'RUNNING' THEN a.on_timeout ELSE '{}' END AS on_timeout,
           CASE WHEN a.state = 'RUNNING' THEN a.on_failure ELSE '{}' END AS on_failure,
           CASE WHEN a.state = 'RUNNING' AND a.timeout_seconds > 0
                THEN CAST(extract(epoch FROM a.started_at + make_interval(secs => a.timeout_seconds) - moment.at)
                          AS double precision)
            END AS remaining_seconds,
           CAST(h.worker_id AS text) AS held_worker_id, CAST(h.action_id AS text) AS held_action_id,
           CAST(h.lease_id AS text) AS lease_id, l.engine, l.expires_at > moment.at AS is_live,
           CAST(mine.id AS text) AS own_id, mine.engine AS own_engine, mine.expires_at > moment.at AS is_own_live
      FROM workflow w CROSS JOIN moment
      LEFT JOIN action a ON a.workflow_id = w.id
      LEFT JOIN machine_hold h ON h.worker_id = a.worker_id AND h.workflow_id = w.id
      LEFT JOIN lease l ON l.id = h.lease_id
      LEFT JOIN lease mine ON mine.token = :lease_token
     WHERE w.id = CAST(:id AS uuid)
     ORDER BY a.action_index
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
# The machine is held from before: since this very transaction, where the workflow starts.
_START_ACTION = sqlalchemy.text("""
    WITH held AS (
        UPDATE machine_hold h
           SET lease_id = CAST(:lease_id AS uuid),
               action_id = CASE WHEN CAST(:lease_id AS uuid) IS NOT NULL THEN a.id END
          FROM action a
         WHERE a.id = CAST(:action_id AS uuid) AND h.worker_id = a.worker_id AND h.workflow_id = a.workflow_id
           AND (h.lease_id IS NOT NULL OR CAST(:lease_id AS uuid) IS NOT NULL)
    )
    UPDATE action a
       SET state = 'RUNNING', attempt = :attempt, message = :message, exit_code = NULL,
           started_at = moment.at, finished_at = NULL, retry_at = NULL,
           -- LEAST leaves out whichever limit there is not.
           deadline_at = least(CASE WHEN a.timeout_seconds > 0
                                    THEN moment.at + make_interval(secs => a.timeout_seconds) END,
                               w.deadline_at)
      FROM (SELECT clock_timestamp() AS at) moment, workflow w
     WHERE a.id = CAST(:action_id AS uuid) AND w.id = a.workflow_id
    RETURNING CAST(extract(epoch FROM a.deadline_at - moment.at) AS double precision) AS remaining_seconds
""")
_END = """
    UPDATE action
       SET state = :state, message = :message, exit_code = :exit_code, finished_at = clock_timestamp(), retry_at = NULL
     WHERE id = CAST(:action_id AS uuid)
"""
_END_ACTION = sqlalchemy.text(_END)
# Before the workflow's own end, which lets go of the machines on which nothing is left.
_VACATE = """
    WITH vacated AS (
        UPDATE machine_hold SET action_id = NULL
         WHERE workflow_id = CAST(:workflow_id AS uuid) AND action_id = CAST(:action_id AS uuid)
    )
"""
_END_AND_VACATE = sqlalchemy.text(_VACATE + _END)
_ADOPT = sqlalchemy.text("""
    UPDATE machine_hold SET lease_id = CAST(:lease_id AS uuid), action_id = CAST(:action_id AS uuid)
     WHERE workflow_id = CAST(:workflow_id AS uuid) AND worker_id = CAST(:worker_id AS uuid)
""")
_RETRY_ACTION = sqlalchemy.text(f"""
    {_VACATE}
    UPDATE action
       SET state = 'PENDING', message = :message, exit_code = :exit_code, deadline_at = NULL,
           retry_at = clock_timestamp() + make_interval(secs => :delay_seconds)
     WHERE id = CAST(:action_id AS uuid)
""")  # noqa: S608
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
    """A workflow that nobody else moves until the transaction ends: its actions in order, its machines by their ids.

    `lease` is the one whose token was asked about, None where there is no such lease.
    """

    workflow: transition.Workflow
    actions: Sequence[transition.Action]
    holds: Mapping[str, MachineHold]
    lease: lease.Lease | None


async def lock(connection: AsyncConnection, workflow_id: str, *, lease_token: int = 0) -> Locked | None:
    """Lock a live workflow and return its state; None if there is none."""
    if (await connection.execute(LOCK, {"id": workflow_id})).first() is None:
        return None
    # A statement of its own, because it must see what was committed while the one above waited.
    rows = (await connection.execute(STATES, {"id": workflow_id, "lease_token": lease_token})).all()
    return _locked(rows)


async def elapsed_seconds(connection: AsyncConnection, action_id: str) -> float:
    """Return the seconds since an action, which must have been started, was started last."""
    elapsed: float = (await connection.execute(_ELAPSED, {"id": action_id})).scalar_one()
    return elapsed


async def adopt(connection: AsyncConnection, workflow_id: str, action: transition.Action, *, lease_id: str) -> None:
    """Put a machine, and what runs there, under another lease."""
    values = {"workflow_id": workflow_id, "worker_id": action.worker_id, "action_id": action.id, "lease_id": lease_id}
    await connection.execute(_ADOPT, values)


async def write(
    connection: AsyncConnection,
    workflow_id: str,
    steps: Sequence[transition.Step],
    *,
    lease_id: str = "",
    vacated: str = "",
) -> float | None:
    """Write steps in their order, which is the order of their events.

    An action that is started is held under the lease of this id; `vacated` is the id of one of which nothing is left on
    its machine. Returns the seconds to the deadline of an action that was started, None where there is none.
    """
    remaining: float | None = None
    statements = (_statement(workflow_id, step, lease_id=lease_id, vacated=vacated) for step in steps)
    for statement, group in itertools.groupby(statements, lambda pair: pair[0]):
        # Steps of one kind, such as the cancellation of hundreds of actions, go to the database in one go.
        rows = [values for _, values in group]
        if statement is _START_ACTION:
            remaining = (await connection.execute(statement, *rows)).scalar_one()
        else:
            await connection.execute(statement, rows)
    return remaining


def _statement(
    workflow_id: str, step: transition.Step, *, lease_id: str, vacated: str
) -> tuple[sqlalchemy.TextClause, dict[str, object]]:
    match step:
        case transition.StartWorkflow():
            return _START_WORKFLOW, {"workflow_id": workflow_id}
        case transition.StartAction():
            return _START_ACTION, dataclasses.asdict(step) | {"lease_id": lease_id or None}
        case transition.EndAction() if step.action_id == vacated:
            return _END_AND_VACATE, dataclasses.asdict(step) | {"workflow_id": workflow_id}
        case transition.EndAction():
            return _END_ACTION, dataclasses.asdict(step)
        case transition.RetryAction():
            return _RETRY_ACTION, dataclasses.asdict(step) | {"workflow_id": workflow_id}
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


def _locked(rows: Sequence[sqlalchemy.Row[Any]]) -> Locked:
    first = rows[0]
    holds = {row.held_worker_id: _hold(row) for row in rows if row.held_worker_id is not None}
    found = transition.Workflow(
        id=first.workflow_id,
        state=State(first.workflow_state),
        remaining_seconds=first.workflow_remaining,
        on_timeout=first.workflow_on_timeout,
        on_failure=first.workflow_on_failure,
    )
    return Locked(
        found,
        [_action(row, holds.get(row.worker_id)) for row in rows if row.id is not None],
        holds,
        lease.Lease(id=first.own_id, engine=first.own_engine, is_live=first.is_own_live) if first.own_id else None,
    )


def _hold(row: sqlalchemy.Row[Any]) -> MachineHold:
    known = None
    if row.engine is not None:
        known = lease.Lease(id=row.lease_id, engine=row.engine, is_live=row.is_live)
    return MachineHold(
        id=row.held_worker_id,
        lease_id=row.lease_id or "",
        lease=known,
        action_id=row.held_action_id or "",
    )


def _action(row: sqlalchemy.Row[Any], hold: MachineHold | None) -> transition.Action:
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
        is_lost=row.state == State.RUNNING and hold is not None and hold.is_lost,
        retries=row.retries,
        retry_delay_seconds=row.retry_delay_seconds,
        reboots=row.reboots,
    )
