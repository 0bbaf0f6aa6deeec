"""People's view of tasks: created, found, listed, cancelled, and deleted after a while."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.unit import limit
from tinkwell.core.unit.kinds import TaskKind
from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.unit.store.task import row
from tinkwell.server.unit.store.task.row import Task

_LISTED_ROWS = 100
FIND = f"SELECT {row.COLUMNS} FROM task t WHERE t.id = $1::text::uuid"  # noqa: S608
_LIST = sqlalchemy.text(f"""
    SELECT {row.COLUMNS} FROM task t
     WHERE t.unit_id = ANY (CAST(CAST(:units AS text[]) AS uuid[])) ORDER BY t.number DESC
""").execution_options(yield_per=_LISTED_ROWS)  # noqa: S608
_INSERT = """
    INSERT INTO task (id, namespace, application_id, unit_id, unit, kind, name, parameters, arguments, timeout_seconds,
                      actor)
    SELECT coalesce($1::text::uuid, gen_random_uuid()), u.namespace, u.application_id, u.id, u.name, $3, $4,
           $5::text::json, $6::text[], coalesce($7::integer, n.event_timeout_seconds), $8
      FROM unit u JOIN namespace n ON n.name = u.namespace
     WHERE u.id = $2::text::uuid
    RETURNING CAST(id AS text) AS id
"""
COUNT_PENDING = "SELECT count(*) AS n FROM task WHERE unit_id = $1::text::uuid AND state = 'PENDING'"
# Keeps the newest of the tasks that have ended.
FORGET = """
    DELETE FROM task
     WHERE unit_id = $1::text::uuid AND state NOT IN ('PENDING', 'RUNNING')
       AND number <= (SELECT number FROM task
                       WHERE unit_id = $1::text::uuid AND state NOT IN ('PENDING', 'RUNNING')
                       ORDER BY number DESC OFFSET $2 LIMIT 1)
"""
_CANCEL = """
    UPDATE task SET state = 'CANCELLED', message = $2, finished_at = clock_timestamp()
     WHERE id = $1::text::uuid AND state = 'PENDING'
"""
_REQUEST_END = (
    "UPDATE task SET is_cancelled = true WHERE id = $1::text::uuid AND state = 'RUNNING' AND NOT is_cancelled"
)
LINES = """
    SELECT line FROM (SELECT number, line FROM task_line WHERE task_id = $1::text::uuid ORDER BY number DESC LIMIT $2) l
     ORDER BY number
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task to create.

    An empty `id` is replaced by a new one; `timeout_seconds` is None for the namespace's setting.
    """

    id: str
    unit_id: str
    kind: TaskKind
    name: str
    parameters: str
    arguments: Sequence[str]
    timeout_seconds: int | None
    actor: str


async def insert(transaction: Transaction, new: NewTask) -> str:
    """Create a task of a locked unit, and return its id. Old tasks beyond the limit are deleted."""
    values = (new.id or None, new.unit_id, new.kind.value, new.name, new.parameters, list(new.arguments))
    made = await transaction.fetch(_INSERT, *values, new.timeout_seconds, new.actor)
    await transaction.fetch(FORGET, new.unit_id, limit.TASKS_PER_UNIT)
    return str(made[0]["id"])


async def count_pending(transaction: Transaction, unit_id: str) -> int:
    """Return the number of waiting tasks of a unit."""
    return int((await transaction.fetch(COUNT_PENDING, unit_id))[0]["n"])


async def find(fetch: Fetch, task_id: str) -> Task | None:
    """Return a task, or None if there is none."""
    found = await fetch(FIND, task_id)
    return row.read(found[0]) if found else None


async def lines(fetch: Fetch, task_id: str) -> Sequence[str]:
    """Return the newest lines of a task's log, in order."""
    return [each["line"] for each in await fetch(LINES, task_id, limit.TASK_LOG_LINES)]


async def list_of_units(connection: AsyncConnection, unit_ids: Sequence[str]) -> AsyncGenerator[Task, None]:
    """Yield the tasks of some units, newest first."""
    async with connection.stream(_LIST, {"units": list(unit_ids)}) as rows:
        async for found in rows.mappings():
            yield row.read(found)


async def cancel(transaction: Transaction, task_id: str, *, message: str) -> None:
    """End a waiting task, whose unit is locked."""
    await transaction.fetch(_CANCEL, task_id, message)


async def request_end(transaction: Transaction, task_id: str) -> None:
    """Ask the agent of a running task to end it. Its unit is locked."""
    await transaction.fetch(_REQUEST_END, task_id)
