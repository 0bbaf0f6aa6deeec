"""The versions of the document that a workflow's workers share. JSON text is returned as it was written."""

import dataclasses

import sqlalchemy
from sqlalchemy import bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.database import column
from tinkwell.server.workflow.store import table

_DATA = table.workflow_data.c
_WORKFLOW = table.workflow.c

_LOCK = (
    select(_WORKFLOW.id)
    .where(_WORKFLOW.id == bindparam("workflow_id"), _WORKFLOW.deleted_at.is_(None))
    .with_for_update(key_share=True)
)
_APPEND = sqlalchemy.insert(table.workflow_data).values(
    metadata=column.to_json("metadata_text"), data=column.to_json("data_text")
)
_FORGET = (
    sqlalchemy.update(table.workflow_data)
    .where(_DATA.workflow_id == bindparam("of"), _DATA.version <= bindparam("last"), _DATA.data.is_not(None))
    .values(data=sqlalchemy.null())
)
_LATEST = select(func.coalesce(func.max(_DATA.version), 0)).where(_DATA.workflow_id == bindparam("workflow_id"))
_LONGEST = select(func.coalesce(func.max(func.octet_length(column.to_text(_DATA.data))), 0)).where(
    _DATA.workflow_id == bindparam("workflow_id"), _DATA.data.is_not(None)
)
_GET = (
    select(_DATA.version, column.to_text(_DATA.metadata), column.to_text(_DATA.data))
    .join(table.workflow, _WORKFLOW.id == _DATA.workflow_id)
    .where(
        _DATA.workflow_id == bindparam("workflow_id"),
        _DATA.version == bindparam("version"),
        _WORKFLOW.deleted_at.is_(None),
    )
)


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """One version. The data of an old version is deleted, and then None."""

    number: int
    metadata: str
    data: str | None


async def lock_workflow(connection: AsyncConnection, workflow_id: str) -> bool:
    """Lock a workflow, so that no other transaction writes a version.

    Return False if there is no such live workflow.
    """
    return (await connection.execute(_LOCK, {"workflow_id": workflow_id})).first() is not None


async def append(connection: AsyncConnection, workflow_id: str, *, metadata: str, data: str, keep: int) -> int:
    """Write the next version and return its number.

    Afterwards only the newest `keep` versions have data. The caller holds the lock of the workflow.
    """
    number = await latest(connection, workflow_id) + 1
    values = {"workflow_id": workflow_id, "version": number, "metadata_text": metadata, "data_text": data}
    await connection.execute(_APPEND, values)
    await connection.execute(_FORGET, {"of": workflow_id, "last": number - keep})
    return number


async def latest(connection: AsyncConnection, workflow_id: str) -> int:
    """Return the number of the latest version, or 0 if there is none."""
    return int((await connection.execute(_LATEST, {"workflow_id": workflow_id})).scalar_one())


async def longest(connection: AsyncConnection, workflow_id: str) -> int:
    """Return the length of the longest data that is kept, or 0 if there is none."""
    return int((await connection.execute(_LONGEST, {"workflow_id": workflow_id})).scalar_one())


async def get(connection: AsyncConnection, workflow_id: str, number: int) -> Version | None:
    """Return a version of a live workflow's document, or the latest one for 0."""
    number = number or await latest(connection, workflow_id)
    row = (await connection.execute(_GET, {"workflow_id": workflow_id, "version": number})).one_or_none()
    return Version(*row) if row is not None else None
