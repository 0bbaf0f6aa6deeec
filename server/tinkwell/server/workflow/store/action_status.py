"""The journal of the reports about actions. It outlives its workflow."""

import dataclasses
from typing import Any

import sqlalchemy
from sqlalchemy import Integer, bindparam
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import record
from tinkwell.server.database.database import Transaction
from tinkwell.server.workflow.store import table

_STATUS = table.action_status.c
_FIELDS = tuple(field.name for field in dataclasses.fields(record.ActionStatus))
_INSERT = f"""
    INSERT INTO action_status ({", ".join(_FIELDS)})
    VALUES ({", ".join(f"${number}" for number, _ in enumerate(_FIELDS, 1))})
"""  # noqa: S608
PAGE = (
    sqlalchemy.select(table.action_status)
    .where(_STATUS.workflow_id == bindparam("workflow_id"), _STATUS.id > bindparam("after"))
    .order_by(_STATUS.id)
    .limit(bindparam("limit", type_=Integer))
)


async def append(transaction: Transaction, *statuses: record.ActionStatus) -> None:
    """Add entries; the database adds the time."""
    rows = [[getattr(status, name) for name in _FIELDS] for status in statuses]
    await transaction.execute_each(_INSERT, rows)


async def page(
    connection: AsyncConnection, workflow_id: str, *, after: int, limit: int
) -> tuple[list[record.JournalEntry], int]:
    """Return the entries of a workflow that follow the place `after`, in order, and the place where they end."""
    values = {"workflow_id": workflow_id, "after": after, "limit": limit}
    rows = (await connection.execute(PAGE, values)).all()
    return [_status(row) for row in rows], rows[-1].id if rows else after


def _status(row: sqlalchemy.Row[Any]) -> record.JournalEntry:
    told = {name: getattr(row, name) for name in _FIELDS}
    return record.JournalEntry(**told | {"state": State(row.state)}, created_at=row.created_at)
