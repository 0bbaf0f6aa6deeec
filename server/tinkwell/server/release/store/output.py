"""The output of steps, line by line, in the order in which it was added to an operation."""

import dataclasses
from collections.abc import Collection, Sequence

from tinkwell.core.release.record import NewStepLine, StepLine
from tinkwell.core.workflow.record import LogStream
from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.release.store import lock

_BELONGING = """
    SELECT CAST(s.id AS text) AS id FROM step s
     WHERE s.id = ANY ($2::text[]::uuid[]) AND s.operation_id = $1::text::uuid
       FOR KEY SHARE
"""
_APPEND = """
    INSERT INTO step_log AS known (operation_id, step_id, attempt, number, stream, line, is_open)
    SELECT $1::text::uuid, given.step_id::uuid, given.attempt, given.number, given.stream, given.line, given.is_open
      FROM unnest($2::text[], $3::integer[], $4::bigint[], $5::text[], $6::text[], $7::boolean[])
           WITH ORDINALITY AS given (step_id, attempt, number, stream, line, is_open, place)
     ORDER BY given.place
        ON CONFLICT (step_id, attempt, number) DO UPDATE
       SET id = DEFAULT, stream = excluded.stream, line = excluded.line, is_open = excluded.is_open,
           created_at = excluded.created_at
     WHERE known.is_open
"""
_EXISTS = "SELECT id FROM operation WHERE id = $1::text::uuid"
# After its end an operation gets no more lines. An operation without an owner that is past its deadline or cancelled
# has to be ended by the caller that sees it.
STATE = """
    SELECT o.state NOT IN ('PENDING', 'RUNNING') AS is_over,
           (o.deadline_at <= clock_timestamp() OR o.cancel_requested_at IS NOT NULL)
           AND coalesce(l.expires_at <= clock_timestamp(), true) AS is_late
      FROM operation o LEFT JOIN lease l ON l.id = o.lease_id WHERE o.id = $1::text::uuid
"""
PAGE = """
    SELECT g.id, CAST(g.step_id AS text) AS step_id, g.attempt, g.number, g.stream, g.line AS text, g.is_open,
           g.created_at, s.path, s.name AS step_name
      FROM step_log g JOIN step s ON s.id = g.step_id
     WHERE g.operation_id = $1::text::uuid AND g.id > $2 AND ($3 = '' OR s.path = $3)
     ORDER BY g.id
     LIMIT $4
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """Lines in order, and whether the operation was over when they were read, or is due to be ended."""

    lines: Sequence[StepLine]
    is_over: bool
    is_due: bool


async def lock_operation(transaction: Transaction, operation_id: str) -> bool:
    """Lock the output of an operation until the transaction ends. Return False if there is no such operation."""
    return bool(await transaction.fetch(lock.LOCK, operation_id))


async def find_missing(transaction: Transaction, operation_id: str, step_ids: Collection[str]) -> str | None:
    """Return the first of the ids that is not a step of the operation."""
    found = {row["id"] for row in await transaction.fetch(_BELONGING, operation_id, sorted(step_ids))}
    return min(set(step_ids) - found, default=None)


async def append(transaction: Transaction, operation_id: str, lines: Sequence[NewStepLine]) -> None:
    """Add lines, each given once, to a locked operation. A line that exists stays unchanged, unless it is open.

    An open line is replaced, and moves to the end like a new line, so that every watcher reads it again.
    """
    names = ("step_id", "attempt", "number", "stream", "text", "is_open")
    await transaction.fetch(_APPEND, operation_id, *([getattr(line, name) for line in lines] for name in names))


async def page(fetch: Fetch, operation_id: str, *, path: str, after: int, limit: int) -> Page:
    """Return the lines of an operation that follow the place `after`, or only those of one path if it is not empty."""
    # The state is read first: lines that are added after it are read below, or by the next page.
    found = await fetch(STATE, operation_id)
    rows = await fetch(PAGE, operation_id, after, path, limit)
    lines = [StepLine(**dict(row) | {"stream": LogStream(row["stream"])}) for row in rows]
    is_over = not found or found[0]["is_over"]
    return Page(lines, is_over=is_over, is_due=not is_over and found[0]["is_late"])


async def exists(fetch: Fetch, operation_id: str) -> bool:
    """Return whether there is such an operation."""
    return bool(await fetch(_EXISTS, operation_id))
