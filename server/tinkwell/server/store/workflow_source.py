"""The template that a workflow is made from, held still while the workflow is written."""

import contextlib
import dataclasses

import sqlalchemy
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors, record, value
from tinkwell.server.store import table

_TEMPLATE = table.template.c

# A union without ALL ends even where somebody has made a ring of rows by hand.
_LINEAGE = sqlalchemy.text("""
    WITH RECURSIVE chain AS (
        SELECT id, template_id, recovers FROM workflow WHERE id = CAST(:id AS uuid)
         UNION
        SELECT w.id, w.template_id, w.recovers FROM workflow w JOIN chain ON w.id = chain.recovers
    )
    SELECT (SELECT CAST(devices AS text) FROM workflow WHERE id = CAST(:id AS uuid)) AS devices,
           array_agg(DISTINCT CAST(template_id AS text)) AS template_ids
      FROM chain
""")


@dataclasses.dataclass(frozen=True, slots=True)
class Lineage:
    """A workflow's devices, as JSON text, and the templates of it, of the one that it recovers, and so on."""

    devices: str
    template_ids: frozenset[str]


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


async def find_lineage(connection: AsyncConnection, workflow_id: str) -> Lineage:
    """Return where a workflow comes from, deleted or not. Raises `errors.NotFound`."""
    row = (await connection.execute(_LINEAGE, {"id": workflow_id})).one()
    if row.devices is None:
        raise errors.NotFound("WORKFLOW", workflow_id)
    return Lineage(row.devices, frozenset(row.template_ids))


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
