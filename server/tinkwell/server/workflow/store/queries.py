"""Workflows and their actions: read and marked as deleted. Other modules create and move them."""

from collections.abc import AsyncGenerator, Collection
from typing import Any

import asyncpg
import sqlalchemy
from sqlalchemy import Row, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import record
from tinkwell.server.database import column
from tinkwell.server.database.database import Fetch
from tinkwell.server.workflow.store import table

# A device map may have a megabyte, so few rows are in memory at a time.
_CURSOR_ROWS = 50

_WORKFLOW = table.workflow.c

_LISTED = (
    _WORKFLOW.id,
    _WORKFLOW.version,
    _WORKFLOW.template_id,
    _WORKFLOW.template_name,
    column.to_text(_WORKFLOW.devices).label("devices"),
    _WORKFLOW.state,
    _WORKFLOW.total_actions,
    _WORKFLOW.completed_actions,
    _WORKFLOW.global_timeout_seconds,
    column.to_text(_WORKFLOW.cause).label("cause"),
    _WORKFLOW.created_at,
    _WORKFLOW.updated_at,
    _WORKFLOW.started_at,
    _WORKFLOW.finished_at,
    _WORKFLOW.on_timeout,
    _WORKFLOW.on_failure,
    _WORKFLOW.recovers,
)

_IS_LIVE = _WORKFLOW.deleted_at.is_(None)
_GET = select(*_LISTED, _WORKFLOW.data).where(_WORKFLOW.id == bindparam("workflow_id"), _IS_LIVE)
_WAS_CREATED = select(_WORKFLOW.id).where(_WORKFLOW.id == bindparam("workflow_id"))
_EXISTS = _WAS_CREATED.where(_IS_LIVE)
_LIST = (
    select(*_LISTED)
    .where(_IS_LIVE)
    .order_by(_WORKFLOW.created_at, _WORKFLOW.id)
    .execution_options(yield_per=_CURSOR_ROWS)
)
_DELETE = (
    sqlalchemy.update(table.workflow)
    .where(_WORKFLOW.id == bindparam("workflow_id"))
    .values(deleted_at=func.clock_timestamp())
)

# The columns of `read_action`, taken from the alias `a`.
ACTION_COLUMNS = """
    a.id::text AS action_id, a.version, a.workflow_id::text AS workflow_id, a.action_index, a.task_name, a.name,
    a.image, a.timeout_seconds, a.command, a.on_timeout, a.on_failure, a.worker_id::text AS worker_id, a.volumes,
    a.environment, a.pid, a.state, a.attempt, a.message, a.exit_code, a.started_at, a.finished_at, a.retries,
    a.retry_delay_seconds, a.reboots,
    CASE a.state WHEN 'PENDING' THEN a.retry_at END AS retry_at,
    CASE a.state WHEN 'RUNNING' THEN extract(epoch FROM a.deadline_at - clock_timestamp())::double precision
     END AS remaining_seconds,
    CASE WHEN a.state = 'PENDING' AND a.retry_at > clock_timestamp()
         THEN extract(epoch FROM a.retry_at - clock_timestamp())::double precision
     END AS wait_seconds
"""
ACTIONS = f"""
    SELECT {ACTION_COLUMNS} FROM workflow w LEFT JOIN action a ON a.workflow_id = w.id
     WHERE w.id = $1::text::uuid AND w.deleted_at IS NULL
     ORDER BY a.action_index
"""  # noqa: S608


async def get(connection: AsyncConnection, workflow_id: str) -> record.Workflow | None:
    """Return a live workflow with its data."""
    row = (await connection.execute(_GET, {"workflow_id": workflow_id})).one_or_none()
    return _workflow(row, data=row.data) if row is not None else None


async def exists(connection: AsyncConnection, workflow_id: str) -> bool:
    """Return whether there is a live workflow with this id."""
    return (await connection.execute(_EXISTS, {"workflow_id": workflow_id})).first() is not None


async def was_created(connection: AsyncConnection, workflow_id: str) -> bool:
    """Return whether there is or was a workflow with this id."""
    return (await connection.execute(_WAS_CREATED, {"workflow_id": workflow_id})).first() is not None


async def list_live(connection: AsyncConnection, states: Collection[State]) -> AsyncGenerator[record.Workflow, None]:
    """Yield live workflows in any of the states, or all if `states` is empty, oldest first and without data."""
    async with connection.stream(select_live(states)) as rows:
        async for row in rows:
            yield _workflow(row, data="")


def select_live(states: Collection[State]) -> sqlalchemy.Select[Any]:
    """Build the query of `list_live`."""
    if not states:
        return _LIST
    # The states are literals, so that the planner sees that the index of unfinished workflows fits.
    return _LIST.where(
        _WORKFLOW.state.in_(
            [sqlalchemy.literal(state, sqlalchemy.Text, literal_execute=True) for state in sorted(states)]
        )
    )


async def list_actions(fetch: Fetch, workflow_id: str) -> list[record.Action] | None:
    """Return the actions of a live workflow in order."""
    rows = await fetch(ACTIONS, workflow_id)
    return [read_action(row) for row in rows if row["action_id"] is not None] if rows else None


async def mark_deleted(connection: AsyncConnection, workflow_id: str) -> None:
    """Mark a workflow as deleted. Its row stays for the rows that refer to it."""
    await connection.execute(_DELETE, {"workflow_id": workflow_id})


def _workflow(row: Row[Any], *, data: str) -> record.Workflow:
    return record.Workflow(
        id=row.id,
        version=row.version,
        template_id=row.template_id,
        template_name=row.template_name,
        devices=row.devices,
        data=data,
        state=State(row.state),
        total_actions=row.total_actions,
        completed_actions=row.completed_actions,
        global_timeout_seconds=row.global_timeout_seconds,
        cause=row.cause or "",
        created_at=row.created_at,
        updated_at=row.updated_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        on_timeout=row.on_timeout,
        on_failure=row.on_failure,
        recovers=row.recovers or "",
    )


def read_action(row: asyncpg.Record) -> record.Action:
    """Read an action from a row with `ACTION_COLUMNS`."""
    return record.Action(
        id=row["action_id"],
        version=row["version"],
        workflow_id=row["workflow_id"],
        index=row["action_index"],
        task_name=row["task_name"],
        name=row["name"],
        image=row["image"],
        timeout_seconds=row["timeout_seconds"],
        command=tuple(row["command"]),
        on_timeout=tuple(row["on_timeout"]),
        on_failure=tuple(row["on_failure"]),
        worker_id=row["worker_id"],
        volumes=tuple(row["volumes"]),
        environment=tuple(row["environment"]),
        pid=row["pid"],
        state=State(row["state"]),
        attempt=row["attempt"],
        message=row["message"],
        exit_code=row["exit_code"],
        remaining_seconds=row["remaining_seconds"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        retries=row["retries"],
        retry_delay_seconds=row["retry_delay_seconds"],
        reboots=row["reboots"],
        retry_at=row["retry_at"],
        wait_seconds=row["wait_seconds"],
    )
