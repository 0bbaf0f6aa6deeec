"""Templates: stored, found, listed, deleted."""

import re
from collections.abc import AsyncGenerator
from typing import Any, Literal, TypeAlias

import sqlalchemy
from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.template.record import Template
from tinkwell.server.template.store import table

_CURSOR_ROWS = 500

_TEMPLATE = table.template.c
_LIVE = _TEMPLATE.deleted_at.is_(None)
_LISTED = (
    _TEMPLATE.id,
    _TEMPLATE.version,
    _TEMPLATE.name,
    sqlalchemy.literal("", sqlalchemy.Text),
    _TEMPLATE.created_at,
    _TEMPLATE.updated_at,
)
_WHOLE = (
    _TEMPLATE.id,
    _TEMPLATE.version,
    _TEMPLATE.name,
    _TEMPLATE.data,
    _TEMPLATE.created_at,
    _TEMPLATE.updated_at,
)

Key: TypeAlias = Literal["id", "name"]


async def insert(connection: AsyncConnection, template_id: str, name: str, data: str) -> bool:
    """Insert a template; False if the id was given before, or the name is taken."""
    # No index is named: of two equal ones at once, PostgreSQL may meet the other's name before it meets its id.
    statement = (
        postgresql.insert(table.template)
        .values(id=template_id, name=name, data=data)
        .on_conflict_do_nothing()
        .returning(_TEMPLATE.id)
    )
    return (await connection.execute(statement)).first() is not None


async def is_given(connection: AsyncConnection, template_id: str) -> bool:
    """Return whether a template has the id, or had it before it was deleted."""
    return (await connection.execute(select(_TEMPLATE.id).where(_TEMPLATE.id == template_id))).first() is not None


async def find(connection: AsyncConnection, key: Key, text: str) -> Template | None:
    """Return the live template of an id or a name."""
    return await _one(connection, select(*_WHOLE).where(_TEMPLATE[key] == text, _LIVE))


async def lock(connection: AsyncConnection, template_id: str) -> Template | None:
    """Return the live template, and keep others from changing it until the transaction ends."""
    return await _one(connection, select(*_WHOLE).where(_TEMPLATE.id == template_id, _LIVE).with_for_update())


async def update(connection: AsyncConnection, template_id: str, name: str, data: str) -> int:
    """Change a template that `lock` has returned, and return its new version."""
    statement = (
        sqlalchemy.update(table.template)
        .where(_TEMPLATE.id == template_id)
        .values(name=name, data=data)
        .returning(_TEMPLATE.version)
    )
    version: int = (await connection.execute(statement)).scalar_one()
    return version


async def mark_deleted(connection: AsyncConnection, key: Key, text: str) -> bool:
    """Delete the template of an id or a name; False if there is none."""
    statement = (
        sqlalchemy.update(table.template)
        .where(_TEMPLATE[key] == text, _LIVE)
        .values(deleted_at=func.clock_timestamp())
        .returning(_TEMPLATE.id)
    )
    return (await connection.execute(statement)).first() is not None


async def list_live(connection: AsyncConnection, pattern: str) -> AsyncGenerator[Template, None]:
    """Yield live templates without their data, oldest first; in the pattern `*` stands for any characters."""
    query = select(*_LISTED).where(_LIVE).order_by(_TEMPLATE.created_at, _TEMPLATE.id)
    if pattern:
        query = query.where(_TEMPLATE.name.ilike(_like(pattern), escape="\\"))
    async with connection.stream(query.execution_options(yield_per=_CURSOR_ROWS)) as rows:
        async for row in rows:
            yield Template(*row)


def _like(pattern: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", pattern)
    return re.sub(r"\*+", "%", escaped)


async def _one(connection: AsyncConnection, query: sqlalchemy.Select[Any]) -> Template | None:
    row = (await connection.execute(query)).one_or_none()
    return Template(*row) if row is not None else None
