"""The progress of workflows. Actions succeed in order, so the number of successes is the index of the next action."""

import dataclasses
import datetime
import json

import asyncpg

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import record
from tinkwell.server.database.database import Fetch
from tinkwell.server.workflow.store import queries as workflow_store

_COLUMNS = """
    w.id::text AS context_id, w.created_at, w.state AS workflow_state, w.total_actions, w.completed_actions,
    c.worker_id::text AS current_worker_id, c.task_name AS current_task_name, c.name AS current_action_name,
    c.action_index AS current_index, c.state AS current_state, c.attempt AS current_attempt,
    busy.worker_id::text AS busy_worker_id, busy.workflow_id::text AS busy_workflow_id
"""
# The action that runs or ran last: the last one that was ever started.
_CURRENT = """
    LEFT JOIN LATERAL (
        SELECT a.* FROM action a
         WHERE a.workflow_id = w.id AND a.action_index <= w.completed_actions AND a.attempt > 0
         ORDER BY a.action_index DESC LIMIT 1
    ) c ON true
"""
# Whether another workflow runs on the machine, or has left something there. A running action has its own hold.
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
OF_WORKFLOW = f"""
    SELECT {_COLUMNS}, own.holds::text AS holds FROM workflow w {_CURRENT} {_BUSY} {_HOLDS}
     WHERE w.id = $1::text::uuid AND w.deleted_at IS NULL
"""  # noqa: S608
WITH_ACTIONS = f"""
    WITH context AS MATERIALIZED ({OF_WORKFLOW})
    SELECT context.*, {workflow_store.ACTION_COLUMNS}
      FROM context LEFT JOIN action a ON a.workflow_id = context.context_id::uuid
     ORDER BY a.action_index
"""  # noqa: S608
_OF_WORKER = f"""
    SELECT {_COLUMNS} FROM workflow w {_CURRENT} {_BUSY}
     WHERE w.id IN (SELECT a.workflow_id FROM action a WHERE a.worker_id = $1::text::uuid)
       AND w.deleted_at IS NULL
     ORDER BY w.created_at, w.id
     LIMIT $2
"""  # noqa: S608
DUE = f"""
    SELECT {_COLUMNS}
      FROM workflow w
      JOIN action n ON n.workflow_id = w.id AND n.action_index = w.completed_actions
           {_CURRENT} {_BUSY}
     WHERE w.deleted_at IS NULL AND w.state IN ('PENDING', 'RUNNING') AND busy.workflow_id IS NULL
       AND n.worker_id = $1::text::uuid AND n.state IN ('PENDING', 'RUNNING')
       AND (n.state <> 'PENDING' OR n.retry_at IS NULL OR n.retry_at <= clock_timestamp())
       AND (w.created_at, w.id) > ($2::timestamptz, $3::text::uuid)
     ORDER BY w.created_at, w.id
     LIMIT $4
"""  # noqa: S608


UNFINISHED = """
    SELECT w.id::text AS id, w.state, w.created_at
      FROM workflow w
     WHERE w.deleted_at IS NULL AND w.state IN ('PENDING', 'RUNNING')
       AND (w.created_at, w.id) > ($1::timestamptz, $2::text::uuid)
     ORDER BY w.created_at, w.id
     LIMIT $3
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The position at which a page of workflows ends."""

    created_at: datetime.datetime
    workflow_id: str


BEGINNING = Place(datetime.datetime(1, 1, 1, tzinfo=datetime.UTC), "00000000-0000-0000-0000-000000000000")


async def of_workflow(fetch: Fetch, workflow_id: str, *, with_actions: bool) -> record.Progress | None:
    """Return the progress of a live workflow, with its actions in order if `with_actions`."""
    rows = await fetch(WITH_ACTIONS if with_actions else OF_WORKFLOW, workflow_id)
    if not rows:
        return None
    holds = (
        record.OwnHold(worker_id=worker_id, action_id=action_id, lease_token=lease_token, is_live=is_live)
        for worker_id, action_id, lease_token, is_live in json.loads(rows[0]["holds"] or "[]")
    )
    actions = (workflow_store.read_action(row) for row in rows if row["action_id"] is not None) if with_actions else ()
    return dataclasses.replace(_progress(rows[0]), holds=tuple(holds), actions=tuple(actions))


async def of_worker(fetch: Fetch, worker_id: str, *, limit: int) -> list[record.Progress]:
    """Return the progress of the live workflows that have actions of a worker, oldest first."""
    return [_progress(row) for row in await fetch(_OF_WORKER, worker_id, limit)]


async def due(fetch: Fetch, worker_id: str, *, after: Place, limit: int) -> tuple[list[record.Progress], Place]:
    """Return a page of the workflows whose next action is a worker's, oldest first, and the position where it ends.

    Workflows that wait for a machine, or for the time of the next attempt, are left out.
    """
    rows = await fetch(DUE, worker_id, after.created_at, after.workflow_id, limit)
    place = Place(rows[-1]["created_at"], rows[-1]["context_id"]) if rows else after
    return [_progress(row) for row in rows], place


async def unfinished(fetch: Fetch, *, after: Place, limit: int) -> tuple[record.Unfinished, Place | None]:
    """Return a page of the unfinished workflows, and the position where it ends, or None after the last page."""
    rows = await fetch(UNFINISHED, after.created_at, after.workflow_id, limit)
    running = tuple(row["id"] for row in rows if row["state"] == State.RUNNING)
    pending = tuple(row["id"] for row in rows if row["state"] != State.RUNNING)
    place = Place(rows[-1]["created_at"], rows[-1]["id"]) if len(rows) == limit else None
    return record.Unfinished(running, pending), place


def _progress(row: asyncpg.Record) -> record.Progress:
    current = None
    if row["current_index"] is not None:
        current = record.Current(
            worker_id=row["current_worker_id"],
            task_name=row["current_task_name"],
            action_name=row["current_action_name"],
            index=row["current_index"],
            state=State(row["current_state"]),
            attempt=row["current_attempt"],
        )
    waits_for = None
    if row["busy_workflow_id"] is not None:
        waits_for = record.Hold(worker_id=row["busy_worker_id"], workflow_id=row["busy_workflow_id"])
    return record.Progress(
        workflow_id=row["context_id"],
        state=State(row["workflow_state"]),
        total_actions=row["total_actions"],
        completed_actions=row["completed_actions"],
        current=current,
        waits_for=waits_for,
        created_at=row["created_at"],
    )
