"""What most reports do to their workflows, read and written for many of them at once, and without waiting for anybody.

Reading takes no locks. What is written is held against what was read, in the statement that locks it; see the function
`move_actions`. So each is one statement, and whatever has changed meanwhile, or is being changed, is left out.
"""

import dataclasses
import json
from collections.abc import Container, Mapping, Sequence

import asyncpg

from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.workflow import advance, transition
from tinkwell.core.workflow.hold import MachineHold
from tinkwell.server.database.database import Fetch

READ = """
    SELECT CAST(w.id AS text) AS workflow_id, w.version AS workflow_version, w.state AS workflow_state,
           w.completed_actions, w.total_actions,
           CAST(a.id AS text) AS id, a.version, a.action_index, a.task_name, a.name,
           CAST(a.worker_id AS text) AS worker_id, a.state, a.attempt,
           CAST(h.worker_id AS text) AS held_worker_id, CAST(h.action_id AS text) AS held_action_id,
           CAST(h.lease_id AS text) AS lease_id, l.engine, l.expires_at > moment.at AS is_live,
           CAST(mine.id AS text) AS own_id, mine.engine AS own_engine, mine.expires_at > moment.at AS is_own_live
      FROM (SELECT clock_timestamp() AS at) moment
     CROSS JOIN unnest($1::uuid[]) AS wanted (id)
      JOIN action a ON a.id = wanted.id
      JOIN workflow w ON w.id = a.workflow_id AND w.deleted_at IS NULL
      LEFT JOIN machine_hold h ON h.worker_id = a.worker_id AND h.workflow_id = w.id
      LEFT JOIN lease l ON l.id = h.lease_id
      LEFT JOIN lease mine ON mine.token = $2
"""
_WRITE = """
    SELECT CAST(action_id AS text) AS action_id, remaining_seconds, revision FROM move_actions($1, $2::text::jsonb)
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An action, how far its workflow is, the hold of its machine, and the lease whose token was asked about."""

    workflow_id: str
    workflow_version: int
    standing: advance.Standing
    action: transition.Action
    version: int
    hold: MachineHold | None
    lease: lease.Lease | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A start or a success that was decided. `vacates` says that nothing of the action is left on its machine then."""

    found: Found
    state: State
    attempt: int
    message: str
    exit_code: int | None
    seconds: float
    lease_id: str
    steps: Sequence[transition.Step]
    vacates: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Moved:
    """What was written: the revision of its last event, and the seconds to the deadline, if there is one."""

    revision: int
    remaining_seconds: float | None


async def read(fetch: Fetch, action_ids: Sequence[str], *, lease_token: int) -> dict[str, Found]:
    """Return what there is of the actions, by their ids."""
    return {row["id"]: _found(row) for row in await fetch(READ, action_ids, lease_token)}


async def write(fetch: Fetch, moves: Sequence[Move], *, actor: str) -> dict[str, Moved]:
    """Write moves, of each workflow a start, a success or both; returns by actions what was written."""
    # What starts on a machine takes it over from what has ended there, so that its hold is changed once.
    taken = {(move.found.workflow_id, move.found.action.worker_id) for move in moves if move.state is State.RUNNING}
    rows = await fetch(_WRITE, actor, json.dumps([_row(move, taken) for move in moves]))
    return {row["action_id"]: Moved(row["revision"], row["remaining_seconds"]) for row in rows}


def _row(move: Move, taken: Container[tuple[str, str]]) -> Mapping[str, object]:
    """Return the fields of `action_move`; the machines that are taken are named after their workflows."""
    found, hold = move.found, move.found.hold
    completed, begins, ends = None, False, False
    for step in move.steps:
        match step:
            case transition.StartWorkflow():
                begins = True
            case transition.AdvanceWorkflow():
                completed = step.completed_actions
            case transition.EndWorkflow():
                completed, ends = step.completed_actions, True
            case _:
                pass
    return {
        "workflow_id": found.workflow_id,
        "workflow_version": found.workflow_version,
        "action_id": found.action.id,
        "action_version": found.version,
        "held_lease_id": (hold and hold.lease_id) or None,
        "held_action_id": (hold and hold.action_id) or None,
        "state": move.state,
        "attempt": move.attempt,
        "message": move.message,
        "exit_code": move.exit_code,
        "seconds": move.seconds,
        "lease_id": move.lease_id or None,
        "begins": begins,
        "completed": completed,
        "ends": ends,
        "vacates": move.vacates and (found.workflow_id, found.action.worker_id) not in taken,
    }


def _found(row: asyncpg.Record) -> Found:
    return Found(
        workflow_id=row["workflow_id"],
        workflow_version=row["workflow_version"],
        standing=advance.Standing(State(row["workflow_state"]), row["completed_actions"], row["total_actions"]),
        action=transition.Action(
            id=row["id"],
            index=row["action_index"],
            task_name=row["task_name"],
            name=row["name"],
            worker_id=row["worker_id"],
            state=State(row["state"]),
            attempt=row["attempt"],
        ),
        version=row["version"],
        hold=_hold(row) if row["held_worker_id"] is not None else None,
        lease=lease.Lease(id=row["own_id"], engine=row["own_engine"], is_live=row["is_own_live"])
        if row["own_id"]
        else None,
    )


def _hold(row: asyncpg.Record) -> MachineHold:
    known = None
    if row["engine"] is not None:
        known = lease.Lease(id=row["lease_id"], engine=row["engine"], is_live=row["is_live"])
    return MachineHold(
        id=row["held_worker_id"],
        lease_id=row["lease_id"] or "",
        lease=known,
        action_id=row["held_action_id"] or "",
    )
