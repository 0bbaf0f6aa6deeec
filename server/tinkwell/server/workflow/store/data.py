"""The versions of the document that a workflow's workers share. JSON text comes back as it was written."""

import dataclasses

import sqlalchemy
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.database import column
from tinkwell.server.workflow.store import table

_DATA = table.workflow_data.c


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """One version; old ones have lost their data, which is None then."""

    number: int
    metadata: str
    data: str | None


async def lock_workflow(connection: AsyncConnection, workflow_id: str) -> bool:
    """Let nobody else write a version until the transaction ends; False where there is no such live workflow."""
    query = (
        select(table.workflow.c.id)
        .where(table.workflow.c.id == workflow_id, table.workflow.c.deleted_at.is_(None))
        .with_for_update(key_share=True)
    )
    return (await connection.execute(query)).first() is not None


async def append(connection: AsyncConnection, workflow_id: str, *, metadata: str, data: str, keep: int) -> int:
    """Write the next version and return its number; only the newest `keep` versions have their data afterwards.

    The caller holds the lock of the workflow.
    """
    number = await latest(connection, workflow_id) + 1
    await connection.execute(
        sqlalchemy.insert(table.workflow_data).values(
            workflow_id=workflow_id, version=number, metadata=column.to_json(metadata), data=column.to_json(data)
        )
    )
    await connection.execute(
        sqlalchemy.update(table.workflow_data)
        .where(_DATA.workflow_id == workflow_id, _DATA.version <= number - keep, _DATA.data.is_not(None))
        .values(data=sqlalchemy.null())
    )
    return number


async def latest(connection: AsyncConnection, workflow_id: str) -> int:
    """Return the number of the latest version, 0 when there is none."""
    query = select(func.coalesce(func.max(_DATA.version), 0)).where(_DATA.workflow_id == workflow_id)
    return int((await connection.execute(query)).scalar_one())


async def get(connection: AsyncConnection, workflow_id: str, number: int) -> Version | None:
    """Return a version of a live workflow's document, the latest one for 0."""
    number = number or await latest(connection, workflow_id)
    query = (
        select(_DATA.version, column.to_text(_DATA.metadata), column.to_text(_DATA.data))
        .join(table.workflow, table.workflow.c.id == _DATA.workflow_id)
        .where(_DATA.workflow_id == workflow_id, _DATA.version == number, table.workflow.c.deleted_at.is_(None))
    )
    row = (await connection.execute(query)).one_or_none()
    return Version(*row) if row is not None else None
