"""The agents' view of tasks: granted, logged, ended, lost.

The caller of a function that changes a task has locked its unit.
"""

from collections.abc import Sequence

from tinkwell.core.unit import limit
from tinkwell.core.unit.kinds import TaskState
from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.unit.store.task import asking, row
from tinkwell.server.unit.store.task.row import Task

GRANT = f"""
    UPDATE task t
       SET state = 'RUNNING', charm = $2, lease_token = $3, started_at = clock_timestamp(),
           deadline_at = clock_timestamp() + make_interval(secs => t.timeout_seconds)
     WHERE t.id = $1::text::uuid AND t.state = 'PENDING'
    RETURNING {row.COLUMNS}
"""  # noqa: S608
END = """
    UPDATE task SET state = $2, result = $3::text::json, message = $4, finished_at = clock_timestamp()
     WHERE id = $1::text::uuid AND state = 'RUNNING'
"""
OVERDUE = """
    SELECT CAST(t.id AS text) AS id, CAST(t.unit_id AS text) AS unit_id FROM task t
     WHERE t.state = 'RUNNING' AND t.deadline_at < clock_timestamp() - make_interval(secs => $1)
     ORDER BY t.deadline_at LIMIT $2
"""
RUNS = """
    SELECT CAST(unit_id AS text) AS unit_id FROM task
     WHERE id = $1::text::uuid AND state = 'RUNNING' AND lease_token = $2
"""
_APPEND = """
    INSERT INTO task_line (task_id, number, line)
    SELECT $1::text::uuid, given.number, given.line
      FROM unnest($2::bigint[], $3::text[]) AS given (number, line)
        ON CONFLICT DO NOTHING
"""
_FORGET_LINES = """
    DELETE FROM task_line WHERE task_id = $1::text::uuid AND number <= (
        SELECT number FROM task_line WHERE task_id = $1::text::uuid ORDER BY number DESC OFFSET $2 LIMIT 1)
"""
# At the end of a unit its waiting tasks are cancelled; at an end by force, its running task as well.
END_ALL = """
    UPDATE task SET state = 'CANCELLED', message = 'its unit was removed', finished_at = clock_timestamp()
     WHERE unit_id = ANY ($1::text[]::uuid[]) AND state IN ('PENDING', 'RUNNING')
"""
END_PENDING = """
    UPDATE task SET state = 'CANCELLED', message = 'its unit is being removed', finished_at = clock_timestamp()
     WHERE unit_id = ANY ($1::text[]::uuid[]) AND state = 'PENDING'
"""


async def find(fetch: Fetch, task_id: str) -> Task | None:
    """Return a task, or None if there is none."""
    return await asking.find(fetch, task_id)


async def grant(transaction: Transaction, task_id: str, *, charm: str, lease_token: int) -> Task | None:
    """Start a waiting task on a charm under a lease. Return None if it does not wait."""
    found = await transaction.fetch(GRANT, task_id, charm, lease_token)
    return row.read(found[0]) if found else None


async def end(
    transaction: Transaction, task_id: str, state: TaskState, *, result: str = "{}", message: str = ""
) -> None:
    """End a running task."""
    await transaction.fetch(END, task_id, state.value, result, message)


async def overdue(fetch: Fetch, *, grace_seconds: float, most: int) -> Sequence[tuple[str, str]]:
    """Return the tasks that are past their deadline by more than the grace, with the ids of their units."""
    return [(each["id"], each["unit_id"]) for each in await fetch(OVERDUE, grace_seconds, most)]


async def is_running(fetch: Fetch, task_id: str, *, lease_token: int) -> bool:
    """Return whether a task runs under the lease with a token."""
    return bool(await fetch(RUNS, task_id, lease_token))


async def append(transaction: Transaction, task_id: str, number: int, lines: Sequence[str]) -> None:
    """Add lines to the log of a task, numbered from `number` on.

    A line that exists stays, and only the newest are kept.
    """
    await transaction.fetch(_APPEND, task_id, list(range(number, number + len(lines))), list(lines))
    await transaction.fetch(_FORGET_LINES, task_id, limit.TASK_LOG_LINES)
