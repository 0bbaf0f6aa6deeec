"""Templates: stored, found, listed, deleted."""

import re
from collections.abc import AsyncGenerator
from typing import Any, Literal, TypeAlias

import sqlalchemy
from sqlalchemy import bindparam, func, select
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
_KEYS: tuple[Key, ...] = ("id", "name")

# The conflict names no index: for two equal rows at once, PostgreSQL may check the name before the id.
_INSERT = postgresql.insert(table.template).on_conflict_do_nothing().returning(_TEMPLATE.id)
_IS_GIVEN = select(_TEMPLATE.id).where(_TEMPLATE.id == bindparam("template_id"))
_FIND = {key: select(*_WHOLE).where(_TEMPLATE[key] == bindparam("text"), _LIVE) for key in _KEYS}
_LOCK = _FIND["id"].with_for_update()
_UPDATE = (
    sqlalchemy.update(table.template)
    .where(_TEMPLATE.id == bindparam("template_id"))
    .values(name=bindparam("new_name"), data=bindparam("new_data"))
    .returning(_TEMPLATE.version)
)
_DELETE = {
    key: sqlalchemy.update(table.template)
    .where(_TEMPLATE[key] == bindparam("text"), _LIVE)
    .values(deleted_at=func.clock_timestamp())
    .returning(_TEMPLATE.id)
    for key in _KEYS
}
_LIST = (
    select(*_LISTED).where(_LIVE).order_by(_TEMPLATE.created_at, _TEMPLATE.id).execution_options(yield_per=_CURSOR_ROWS)
)
_LIST_LIKE = _LIST.where(_TEMPLATE.name.ilike(bindparam("pattern"), escape="\\"))


async def insert(connection: AsyncConnection, template_id: str, name: str, data: str) -> bool:
    """Insert a template. Return False if the id was used before, or the name is taken."""
    return (await connection.execute(_INSERT, {"id": template_id, "name": name, "data": data})).first() is not None


async def is_given(connection: AsyncConnection, template_id: str) -> bool:
    """Return whether a template has the id, or had it before it was deleted."""
    return (await connection.execute(_IS_GIVEN, {"template_id": template_id})).first() is not None


async def find(connection: AsyncConnection, key: Key, text: str) -> Template | None:
    """Return the live template with an id or a name."""
    return await _one(connection, _FIND[key], text)


async def lock(connection: AsyncConnection, template_id: str) -> Template | None:
    """Return the live template, locked until the transaction ends."""
    return await _one(connection, _LOCK, template_id)


async def update(connection: AsyncConnection, template_id: str, name: str, data: str) -> int:
    """Change a template that is locked, and return its new version."""
    values = {"template_id": template_id, "new_name": name, "new_data": data}
    version: int = (await connection.execute(_UPDATE, values)).scalar_one()
    return version


async def mark_deleted(connection: AsyncConnection, key: Key, text: str) -> bool:
    """Delete the template with an id or a name. Return False if there is none."""
    return (await connection.execute(_DELETE[key], {"text": text})).first() is not None


async def list_live(connection: AsyncConnection, pattern: str) -> AsyncGenerator[Template, None]:
    """Yield live templates without their data, oldest first. In the pattern `*` stands for any characters."""
    query, values = (_LIST_LIKE, {"pattern": _like(pattern)}) if pattern else (_LIST, {})
    async with connection.stream(query, values) as rows:
        async for row in rows:
            yield Template(*row)


def _like(pattern: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", pattern)
    return re.sub(r"\*+", "%", escaped)


async def _one(connection: AsyncConnection, query: sqlalchemy.Select[Any], text: str) -> Template | None:
    row = (await connection.execute(query, {"text": text})).one_or_none()
    return Template(*row) if row is not None else None
