"""The template that a workflow is made from, held still while the workflow is written."""

import contextlib

import sqlalchemy
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors, record, value
from tinkwell.server.store import table

_TEMPLATE = table.template.c


async def find(connection: AsyncConnection, id_or_name: str) -> record.Template | None:
    """Return the live template of this id, else the one of this name; a name may look like an id."""
    conditions = [_TEMPLATE.name == id_or_name]
    with contextlib.suppress(errors.InvalidField):
        conditions.insert(0, _TEMPLATE.id == value.parse_uuid("template", id_or_name))
    for condition in conditions:
        if (found := await _find(connection, condition)) is not None:
            return found
    return None


async def hold(connection: AsyncConnection, found: record.Template) -> bool:
    """Keep a template from being changed until the transaction ends; False if it has been already."""
    query = (
        select(_TEMPLATE.version)
        .where(_TEMPLATE.id == found.id, _TEMPLATE.deleted_at.is_(None))
        .with_for_update(read=True)
    )
    return (await connection.execute(query)).scalar() == found.version


async def _find(connection: AsyncConnection, condition: sqlalchemy.ColumnElement[bool]) -> record.Template | None:
    query = select(
        _TEMPLATE.id,
        _TEMPLATE.version,
        _TEMPLATE.name,
        _TEMPLATE.data,
        _TEMPLATE.created_at,
        _TEMPLATE.updated_at,
    ).where(condition, _TEMPLATE.deleted_at.is_(None))
    row = (await connection.execute(query)).one_or_none()
    return record.Template(*row) if row is not None else None
