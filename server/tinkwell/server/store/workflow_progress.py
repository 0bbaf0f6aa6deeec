"""How far workflows are. Actions succeed in order, so the number of successes is the index of the next action."""

import dataclasses
import datetime
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import workflow
from tinkwell.core.kind import State

_COLUMNS = """
    CAST(w.id AS text) AS workflow_id, w.created_at, w.state AS workflow_state, w.total_actions, w.completed_actions,
    CAST(c.worker_id AS text) AS worker_id, c.task_name, c.name AS action_name, c.action_index, c.state, c.attempt,
    CAST(busy.worker_id AS text) AS busy_worker_id, CAST(busy.workflow_id AS text) AS busy_workflow_id
"""
# The action that runs or ran last: the last one that was ever started.
_CURRENT = """
    LEFT JOIN LATERAL (
        SELECT a.* FROM action a
         WHERE a.workflow_id = w.id AND a.action_index <= w.completed_actions AND a.attempt > 0
         ORDER BY a.action_index DESC LIMIT 1
    ) c ON true
"""
# A machine on which another workflow runs, or something of it is left; what runs has its own.
_BUSY = """
    LEFT JOIN LATERAL (
        SELECT held.worker_id, held.workflow_id
          FROM action needed JOIN busy_machine held ON held.worker_id = needed.worker_id
         WHERE needed.workflow_id = w.id AND w.state = 'PENDING'
         ORDER BY held.worker_id LIMIT 1
    ) busy ON true
"""
_HOLDS = """
    LEFT JOIN LATERAL (
        SELECT json_agg(json_build_array(h.worker_id, coalesce(CAST(h.action_id AS text), ''), coalesce(l.token, 0),
                                         coalesce(l.expires_at > clock_timestamp(), false)) ORDER BY h.worker_id)
               AS holds
          FROM machine_hold h LEFT JOIN lease l ON l.id = h.lease_id
         WHERE h.workflow_id = w.id
    ) own ON true
"""
OF_WORKFLOW = sqlalchemy.text(f"""
    SELECT {_COLUMNS}, CAST(own.holds AS text) AS holds FROM workflow w {_CURRENT} {_BUSY} {_HOLDS}
     WHERE w.id = CAST(:id AS uuid) AND w.deleted_at IS NULL
""")  # noqa: S608
_OF_WORKER = sqlalchemy.text(f"""
    SELECT {_COLUMNS} FROM workflow w {_CURRENT} {_BUSY}
     WHERE w.id IN (SELECT a.workflow_id FROM action a WHERE a.worker_id = CAST(:worker_id AS uuid))
       AND w.deleted_at IS NULL
     ORDER BY w.created_at, w.id
     LIMIT :limit
""")  # noqa: S608
DUE = sqlalchemy.text(f"""
    SELECT {_COLUMNS}
      FROM workflow w
      JOIN action n ON n.workflow_id = w.id AND n.action_index = w.completed_actions
           {_CURRENT} {_BUSY}
     WHERE w.deleted_at IS NULL AND w.state IN ('PENDING', 'RUNNING') AND busy.workflow_id IS NULL
       AND n.worker_id = CAST(:worker_id AS uuid) AND n.state IN ('PENDING', 'RUNNING')
       AND (n.state <> 'PENDING' OR n.retry_at IS NULL OR n.retry_at <= clock_timestamp())
       AND (w.created_at, w.id) > (CAST(:created_at AS timestamptz), CAST(:id AS uuid))
     ORDER BY w.created_at, w.id
     LIMIT :limit
""")  # noqa: S608


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a page of workflows ends."""

    created_at: datetime.datetime
    workflow_id: str


BEGINNING = Place(datetime.datetime(1, 1, 1, tzinfo=datetime.UTC), "00000000-0000-0000-0000-000000000000")


async def of_workflow(connection: AsyncConnection, workflow_id: str) -> workflow.Progress | None:
    """Return how far a live workflow is."""
    row = (await connection.execute(OF_WORKFLOW, {"id": workflow_id})).one_or_none()
    if row is None:
        return None
    holds = (
        workflow.OwnHold(worker_id=worker_id, action_id=action_id, lease_token=lease_token, is_live=is_live)
        for worker_id, action_id, lease_token, is_live in json.loads(row.holds or "[]")
    )
    return dataclasses.replace(_progress(row), holds=tuple(holds))


async def of_worker(connection: AsyncConnection, worker_id: str, *, limit: int) -> list[workflow.Progress]:
    """Return how far the live workflows are that have actions of a worker, oldest first."""
    rows = await connection.execute(_OF_WORKER, {"worker_id": worker_id, "limit": limit})
    return [_progress(row) for row in rows]


async def due(
    connection: AsyncConnection, worker_id: str, *, after: Place, limit: int
) -> tuple[list[workflow.Progress], Place]:
    """Return a page of the workflows whose next action is a worker's, oldest first, and where the page ends.

    Those that wait for a machine, or until an attempt may be repeated, are left out.
    """
    values: Mapping[str, object] = {
        "worker_id": worker_id,
        "created_at": after.created_at,
        "id": after.workflow_id,
        "limit": limit,
    }
    rows = (await connection.execute(DUE, values)).all()
    place = Place(rows[-1].created_at, rows[-1].workflow_id) if rows else after
    return [_progress(row) for row in rows], place


def _progress(row: sqlalchemy.Row[Any]) -> workflow.Progress:
    current = None
    if row.action_index is not None:
        current = workflow.Current(
            worker_id=row.worker_id,
            task_name=row.task_name,
            action_name=row.action_name,
            index=row.action_index,
            state=State(row.state),
            attempt=row.attempt,
        )
    waits_for = None
    if row.busy_workflow_id is not None:
        waits_for = workflow.Hold(worker_id=row.busy_worker_id, workflow_id=row.busy_workflow_id)
    return workflow.Progress(
        workflow_id=row.workflow_id,
        state=State(row.workflow_state),
        total_actions=row.total_actions,
        completed_actions=row.completed_actions,
        current=current,
        waits_for=waits_for,
        created_at=row.created_at,
    )
