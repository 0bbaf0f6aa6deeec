"""The output of actions, line by line."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow.record import LogLine, LogStream, NewLine

_BELONGING = sqlalchemy.text("""
    SELECT CAST(id AS text) FROM action
     WHERE id = ANY(CAST(CAST(:ids AS text[]) AS uuid[])) AND workflow_id = CAST(:workflow_id AS uuid)
       FOR KEY SHARE
""")
# Sorted by the key, so that two writers of the same lines wait for each other instead of deadlocking.
_APPEND = sqlalchemy.text("""
    INSERT INTO log_line AS known (action_id, attempt, number, stream, line, is_open)
    SELECT CAST(action_id AS uuid), attempt, number, stream, line, is_open
      FROM unnest(CAST(:action_ids AS text[]), CAST(:attempts AS integer[]), CAST(:numbers AS bigint[]),
                  CAST(:streams AS text[]), CAST(:texts AS text[]), CAST(:opens AS boolean[]))
           AS given (action_id, attempt, number, stream, line, is_open)
     ORDER BY 1, 2, 3
    ON CONFLICT (action_id, attempt, number) DO UPDATE
       SET stream = excluded.stream, line = excluded.line, is_open = excluded.is_open, created_at = excluded.created_at
     WHERE known.is_open
""")
_STATE = sqlalchemy.text("SELECT state FROM workflow WHERE id = CAST(:workflow_id AS uuid) AND deleted_at IS NULL")
# A page begins within one action and may go on with the next ones. One statement for both would read all lines of the
# action each time.
WITHIN = sqlalchemy.text("""
    SELECT attempt, number, stream, line, is_open, created_at
      FROM log_line
     WHERE action_id = CAST(:action_id AS uuid) AND (attempt, number) > (:attempt, :number)
     ORDER BY attempt, number
     LIMIT :limit
""")
BEYOND = sqlalchemy.text("""
    SELECT l.attempt, l.number, l.stream, l.line, l.is_open, l.created_at,
           CAST(a.id AS text) AS action_id, a.action_index, a.task_name, a.name AS action_name
      FROM action a
     CROSS JOIN LATERAL (SELECT * FROM log_line WHERE action_id = a.id ORDER BY attempt, number LIMIT :limit) l
     WHERE a.workflow_id = CAST(:workflow_id AS uuid) AND a.action_index > :action_index
     ORDER BY a.action_index, l.attempt, l.number
     LIMIT :limit
""")


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """Lines in the order of action, attempt and number, and whether the workflow was over when they were read."""

    lines: Sequence[LogLine]
    is_over: bool


async def find_missing(connection: AsyncConnection, workflow_id: str, action_ids: Collection[str]) -> str | None:
    """Return the first of the ids that is not an action of the workflow.

    The actions are locked until the transaction ends.
    """
    values = {"workflow_id": workflow_id, "ids": sorted(action_ids)}
    found = set((await connection.execute(_BELONGING, values)).scalars())
    return min(set(action_ids) - found, default=None)


async def append(connection: AsyncConnection, lines: Sequence[NewLine]) -> None:
    """Add lines, each given once. A line that exists stays unchanged, unless it is open."""
    values = {
        "action_ids": [line.action_id for line in lines],
        "attempts": [line.attempt for line in lines],
        "numbers": [line.number for line in lines],
        "streams": [line.stream for line in lines],
        "texts": [line.text for line in lines],
        "opens": [line.is_open for line in lines],
    }
    await connection.execute(_APPEND, values)


async def page(connection: AsyncConnection, workflow_id: str, *, after: LogLine | None, limit: int) -> Page:
    """Return the lines of a workflow that follow the line `after`, or the first lines if it is None.

    The page begins with that line itself if it was open and has changed.
    """
    state = (await connection.execute(_STATE, {"workflow_id": workflow_id})).scalar()
    lines = await _within(connection, after, limit) if after is not None else []
    if len(lines) < limit:
        values = {
            "workflow_id": workflow_id,
            "action_index": after.action_index if after is not None else -1,
            "limit": limit - len(lines),
        }
        lines += [LogLine(**_columns(row)) for row in await connection.execute(BEYOND, values)]
    return Page(lines, is_over=state is None or State(state).is_final)


async def _within(connection: AsyncConnection, after: LogLine, limit: int) -> list[LogLine]:
    number, limit = after.number - after.is_open, limit + after.is_open
    values = {"action_id": after.action_id, "attempt": after.attempt, "number": number, "limit": limit}
    rows = await connection.execute(WITHIN, values)
    lines = [dataclasses.replace(after, **_columns(row)) for row in rows]
    return lines[1:] if lines and lines[0] == after else lines


def _columns(row: sqlalchemy.Row[Any]) -> dict[str, Any]:
    columns = dict(row._mapping)
    return columns | {"text": columns.pop("line"), "stream": LogStream(columns.pop("stream"))}
