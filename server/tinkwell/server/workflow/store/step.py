"""Moves workflows: locks a workflow with its actions, and writes the steps that the rules have decided on.

Every transaction that moves a workflow locks its row first. The lock leaves the row's key alone, so that output and
documents, which refer to the key, need not wait. Times are the database's at the moment a step is written.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

import asyncpg

from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.value import document
from tinkwell.core.workflow import change, deadline, transition
from tinkwell.core.workflow.hold import MachineHold
from tinkwell.server.database.database import Fetch, Transaction

LOCK = "SELECT id FROM workflow WHERE id = $1::uuid AND deleted_at IS NULL FOR NO KEY UPDATE"
LOCK_FREE = """
    SELECT id FROM workflow
     WHERE id IN (SELECT workflow_id FROM action WHERE id = ANY ($1::uuid[])) AND deleted_at IS NULL
       FOR NO KEY UPDATE SKIP LOCKED
"""
_STATES = """
    WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS at)
    SELECT CAST(w.id AS text) AS workflow_id, w.state AS workflow_state, w.version AS workflow_version,
           w.completed_actions, w.total_actions, coalesce(pg_sequence_last_value('events_revision'), 0) AS drawn,
           CASE WHEN w.state = 'PENDING' THEN CAST(nullif(w.global_timeout_seconds, 0) AS double precision)
                ELSE CAST(extract(epoch FROM w.deadline_at - moment.at) AS double precision) END AS workflow_remaining,
           w.on_timeout AS workflow_on_timeout, w.on_failure AS workflow_on_failure,
           coalesce(document.latest, 0) AS data_version,
           CAST(a.id AS text) AS id, a.version, a.action_index, a.task_name, a.name,
           CAST(a.worker_id AS text) AS worker_id, a.state, a.attempt, a.retries, a.retry_delay_seconds, a.reboots,
           CASE WHEN a.state = 'RUNNING' THEN a.on_timeout ELSE '{}' END AS on_timeout,
           CASE WHEN a.state = 'RUNNING' THEN a.on_failure ELSE '{}' END AS on_failure,
           a.timeout_seconds,
           CAST(extract(epoch FROM moment.at - a.started_at) AS double precision) AS elapsed_seconds,
           CAST(h.worker_id AS text) AS held_worker_id, CAST(h.action_id AS text) AS held_action_id,
           CAST(h.lease_id AS text) AS lease_id, l.engine, l.expires_at > moment.at AS is_live,
           CAST(mine.id AS text) AS own_id, mine.engine AS own_engine, mine.expires_at > moment.at AS is_own_live
      FROM workflow w CROSS JOIN moment
      LEFT JOIN LATERAL (
          SELECT max(version) AS latest FROM workflow_data WHERE workflow_id = w.id
      ) document ON true
      LEFT JOIN action a ON a.workflow_id = w.id
      LEFT JOIN machine_hold h ON h.worker_id = a.worker_id AND h.workflow_id = w.id
      LEFT JOIN lease l ON l.id = h.lease_id
      LEFT JOIN lease mine ON mine.token = $1
"""
STATES = f"{_STATES} WHERE w.id = $2::uuid ORDER BY a.action_index"
# A start that would have to wait for another workflow's machine is left out.
STATES_OF_ACTIONS = f"""
    {_STATES}
     WHERE w.id = ANY ($2::uuid[]) AND a.id = ANY ($3::uuid[])
       AND (w.state <> 'PENDING' OR NOT EXISTS (
           SELECT FROM action needed JOIN busy_machine busy ON busy.worker_id = needed.worker_id
            WHERE needed.workflow_id = w.id))
"""
REVISIONS = """
    SELECT CAST(resource_id AS text) AS resource_id, version, revision
      FROM events
     WHERE revision > $1 AND revision <= $2 AND resource_id = ANY ($3::uuid[])
"""
_ELAPSED = """
    SELECT CAST(extract(epoch FROM clock_timestamp() - started_at) AS double precision) AS seconds
      FROM action WHERE id = $1::uuid
"""

_START_WORKFLOW = """
    UPDATE workflow
       SET state = 'RUNNING', started_at = moment.at,
           deadline_at = CASE WHEN global_timeout_seconds > 0
                              THEN moment.at + make_interval(secs => global_timeout_seconds) END
      FROM (SELECT clock_timestamp() AS at) moment
     WHERE id = $1::uuid
"""
# The machine is already held, possibly since this transaction if the workflow starts in it.
_START_ACTION = """
    WITH held AS (
        UPDATE machine_hold h
           SET lease_id = $5::uuid, action_id = CASE WHEN $5::uuid IS NOT NULL THEN a.id END
          FROM action a
         WHERE a.id = $1::uuid AND h.worker_id = a.worker_id AND h.workflow_id = a.workflow_id
           AND (h.lease_id IS NOT NULL OR $5::uuid IS NOT NULL)
    )
    UPDATE action
       SET state = 'RUNNING', attempt = $2, message = $3, exit_code = NULL, started_at = moment.at, finished_at = NULL,
           retry_at = NULL, deadline_at = moment.at + make_interval(secs => $4::double precision)
      FROM (SELECT clock_timestamp() AS at) moment
     WHERE id = $1::uuid
"""
_END_ACTION = """
    UPDATE action SET state = $2, message = $3, exit_code = $4, finished_at = clock_timestamp(), retry_at = NULL
     WHERE id = $1::uuid
"""
# Written before the workflow's own end, which releases the machines that nothing runs on.
_END_AND_VACATE = f"""
    WITH vacated AS (
        UPDATE machine_hold SET action_id = NULL WHERE workflow_id = $5::uuid AND action_id = $1::uuid
    )
    {_END_ACTION}
"""  # noqa: S608
_ADOPT = """
    UPDATE machine_hold SET lease_id = $4::uuid, action_id = $3::uuid
     WHERE workflow_id = $1::uuid AND worker_id = $2::uuid
"""
_RETRY_ACTION = """
    WITH vacated AS (
        UPDATE machine_hold SET action_id = NULL WHERE workflow_id = $5::uuid AND action_id = $1::uuid
    )
    UPDATE action
       SET state = 'PENDING', message = $2, exit_code = $3, deadline_at = NULL,
           retry_at = clock_timestamp() + make_interval(secs => $4::integer)
     WHERE id = $1::uuid
"""
_ADVANCE_WORKFLOW = "UPDATE workflow SET completed_actions = $2 WHERE id = $1::uuid"
_END_WORKFLOW = """
    UPDATE workflow
       SET state = $2, completed_actions = $3, cause = $4::text::jsonb, finished_at = clock_timestamp()
     WHERE id = $1::uuid
"""
# The order of the steps that one decision writes: an action's reported end before the ends that it causes, an end
# before its effect on the workflow, and that before the next start.
_IN_ORDER = (
    _START_WORKFLOW,
    _END_AND_VACATE,
    _END_ACTION,
    _RETRY_ACTION,
    _ADVANCE_WORKFLOW,
    _END_WORKFLOW,
    _START_ACTION,
)


# The id of a workflow or an action, and the version that a step gave it.
Version: TypeAlias = tuple[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Locked:
    """A workflow that is locked until the transaction ends, its actions in order, and its machines by id.

    `lease` is the lease of the token that the caller gave, or None if there is no such lease. `data_version` is the
    latest version of the workflow's shared document, 0 without one.
    """

    workflow: transition.Workflow
    actions: Sequence[change.Action]
    holds: Mapping[str, MachineHold]
    lease: lease.Lease | None
    data_version: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A locked workflow with one of its actions, the counts of its succeeded and of all actions, and the versions.

    `drawn` is the last revision that any transaction had drawn at that time.
    """

    workflow: transition.Workflow
    action: change.Action
    hold: MachineHold | None
    lease: lease.Lease | None
    completed: int
    total: int
    data_version: int
    workflow_version: int
    version: int
    drawn: int

    def locked(self, *, completed: int) -> Locked:
        """Return the workflow's state after `completed` actions have succeeded.

        Raises `errors.IllegalTransition` if another action than this one is due then.
        """
        actions = transition.around(self.action, completed=completed, total=self.total)
        holds = {} if self.hold is None else {self.hold.id: self.hold}
        return Locked(self.workflow, actions, holds, self.lease, self.data_version)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The steps of a workflow, in the order in which they are to be written.

    An action that starts is held under the lease of `lease_id`. `vacated` is the id of an action that has left its
    machine.
    """

    workflow_id: str
    steps: Sequence[change.Step]
    lease_id: str = ""
    vacated: str = ""


async def lock(transaction: Transaction, workflow_id: str, *, lease_token: int = 0) -> Locked | None:
    """Lock a live workflow and return its state, or None if there is none."""
    if not await transaction.fetch(LOCK, workflow_id):
        return None
    # A second statement, because it must see what was committed while the first one waited for the lock.
    return _locked(await transaction.fetch(STATES, lease_token, workflow_id))


async def lock_free(transaction: Transaction, action_ids: Sequence[str], *, lease_token: int) -> dict[str, Due]:
    """Lock the workflows of actions, and return the actions by id.

    This waits for nothing. It leaves out workflows that another transaction has locked, and actions that would start on
    a machine where another workflow runs.
    """
    locked = [row["id"] for row in await transaction.fetch(LOCK_FREE, action_ids)]
    if not locked:
        return {}
    # A second statement here, too, because it must see what was committed before the lock was taken.
    rows = await transaction.fetch(STATES_OF_ACTIONS, lease_token, locked, action_ids)
    return {row["id"]: _due(row) for row in rows}


async def elapsed_seconds(transaction: Transaction, action_id: str) -> float:
    """Return the seconds since the last start of an action, which must have been started."""
    (row,) = await transaction.fetch(_ELAPSED, action_id)
    return float(row["seconds"])


async def adopt(transaction: Transaction, workflow_id: str, action: change.Action, *, lease_id: str) -> None:
    """Move a machine, and the action that runs on it, to another lease."""
    await transaction.fetch(_ADOPT, workflow_id, action.worker_id, action.id, lease_id or None)


async def write(transaction: Transaction, *moves: Move) -> None:
    """Write the steps of some workflows. The steps of each workflow, and so their events, keep their order.

    Steps of one kind go to the database in one call, such as the cancellation of hundreds of actions.
    """
    statements: dict[str, list[tuple[object, ...]]] = {statement: [] for statement in _IN_ORDER}
    for move in moves:
        for step in move.steps:
            statement, *values = _statement(move, step)
            statements[statement].append(tuple(values))
    for statement, rows in statements.items():
        if rows:
            await transaction.execute_each(statement, rows)


async def revisions(fetch: Fetch, versions: Iterable[Version], *, after: int, until: int) -> dict[Version, int]:
    """Return the revisions of the events of these steps, which are known to lie between the two revisions."""
    rows = await fetch(REVISIONS, after, until, list({resource_id for resource_id, _ in versions}))
    return {(row["resource_id"], row["version"]): row["revision"] for row in rows}


def _statement(move: Move, step: change.Step) -> tuple[Any, ...]:
    """Return the statement that writes a step, and its values."""
    id_ = move.workflow_id
    match step:
        case change.StartWorkflow():
            return _START_WORKFLOW, id_
        case change.StartAction():
            held = move.lease_id or None
            return _START_ACTION, step.action_id, step.attempt, step.message, step.deadline_seconds, held
        case change.EndAction() if step.action_id == move.vacated:
            return _END_AND_VACATE, step.action_id, step.state, step.message, step.exit_code, id_
        case change.EndAction():
            return _END_ACTION, step.action_id, step.state, step.message, step.exit_code
        case change.RetryAction():
            return _RETRY_ACTION, step.action_id, step.message, step.exit_code, step.delay_seconds, id_
        case change.AdvanceWorkflow():
            return _ADVANCE_WORKFLOW, id_, step.completed_actions
        case change.EndWorkflow():
            cause = document.dump_json(step.cause.as_document()) if step.cause is not None else None
            return _END_WORKFLOW, id_, step.state, step.completed_actions, cause
        case _:
            assert_never(step)


def _locked(rows: Sequence[asyncpg.Record]) -> Locked:
    holds = {row["held_worker_id"]: _hold(row) for row in rows if row["held_worker_id"] is not None}
    actions = [_action(row, holds.get(row["worker_id"])) for row in rows if row["id"] is not None]
    return Locked(_workflow(rows[0]), actions, holds, _lease(rows[0]), rows[0]["data_version"])


def _due(row: asyncpg.Record) -> Due:
    hold = _hold(row) if row["held_worker_id"] is not None else None
    return Due(
        workflow=_workflow(row),
        action=_action(row, hold),
        hold=hold,
        lease=_lease(row),
        completed=row["completed_actions"],
        total=row["total_actions"],
        data_version=row["data_version"],
        workflow_version=row["workflow_version"],
        version=row["version"],
        drawn=row["drawn"],
    )


def _workflow(row: asyncpg.Record) -> transition.Workflow:
    return transition.Workflow(
        id=row["workflow_id"],
        state=State(row["workflow_state"]),
        remaining_seconds=row["workflow_remaining"],
        on_timeout=row["workflow_on_timeout"],
        on_failure=row["workflow_on_failure"],
    )


def _lease(row: asyncpg.Record) -> lease.Lease | None:
    """Return the lease whose token the caller gave."""
    return (
        lease.Lease(id=row["own_id"], engine=row["own_engine"], is_live=row["is_own_live"]) if row["own_id"] else None
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


def _action(row: asyncpg.Record, hold: MachineHold | None) -> change.Action:
    is_running = row["state"] == State.RUNNING
    return change.Action(
        id=row["id"],
        index=row["action_index"],
        task_name=row["task_name"],
        name=row["name"],
        worker_id=row["worker_id"],
        state=State(row["state"]),
        attempt=row["attempt"],
        on_timeout=tuple(row["on_timeout"]),
        on_failure=tuple(row["on_failure"]),
        timeout_seconds=row["timeout_seconds"],
        remaining_seconds=deadline.left(row["timeout_seconds"], elapsed_seconds=row["elapsed_seconds"])
        if is_running
        else None,
        grace_seconds=deadline.grace(is_leased=hold is not None and bool(hold.lease_id)),
        is_lost=is_running and hold is not None and hold.is_lost,
        retries=row["retries"],
        retry_delay_seconds=row["retry_delay_seconds"],
        reboots=row["reboots"],
    )
