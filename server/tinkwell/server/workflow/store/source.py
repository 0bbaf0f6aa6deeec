"""The sources of a workflow: its template, its devices, and the workflow that it recovers."""

import dataclasses

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.template.record import Template
from tinkwell.core.value import parse
from tinkwell.server.database.database import Fetch

# The template with this id goes before the one with this name, because a name may look like an id.
_TEMPLATE = """
    SELECT id::text, version, name, data, created_at, updated_at FROM template
     WHERE deleted_at IS NULL AND (id = $1::text::uuid OR name = $2)
     ORDER BY id = $1::text::uuid DESC NULLS LAST LIMIT 1
"""
_ORIGIN = f"""
    SELECT t.*, o.id IS NOT NULL AS has_origin, o.template_id::text, o.template_name, o.deleted_at IS NOT NULL,
           o.devices = $4::text::jsonb
      FROM (VALUES (1)) one
      LEFT JOIN LATERAL ({_TEMPLATE}) t ON true
      LEFT JOIN workflow o ON o.id = $3::text::uuid
"""  # noqa: S608
# UNION without ALL ends the recursion even if rows form a cycle.
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
class Origin:
    """The source of a workflow, for comparison with a repeated request."""

    template_id: str
    template_name: str
    is_deleted: bool
    has_these_devices: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Lineage:
    """A workflow's devices, as JSON text, and the templates of it, of the workflow that it recovers, and so on."""

    devices: str
    template_ids: frozenset[str]


async def find(fetch: Fetch, id_or_name: str) -> Template | None:
    """Return the live template with this id, else the one with this name."""
    rows = await fetch(_TEMPLATE, _id_or_none(id_or_name), id_or_name)
    return Template(*rows[0]) if rows else None


async def find_origin(
    fetch: Fetch, id_or_name: str, workflow_id: str, devices: str
) -> tuple[Template | None, Origin | None]:
    """Return what `find` does, and what the workflow of an id, deleted or not, was made from, and if for these devices.

    `devices` is JSON text.
    """
    [row] = await fetch(_ORIGIN, _id_or_none(id_or_name), id_or_name, workflow_id, devices)
    template, (has_origin, *origin) = row[:6], row[6:]
    return Template(*template) if template[0] else None, Origin(*origin) if has_origin else None


async def find_lineage(connection: AsyncConnection, workflow_id: str) -> Lineage:
    """Return the lineage of a workflow, deleted or not. Raises `errors.NotFound`."""
    row = (await connection.execute(_LINEAGE, {"id": workflow_id})).one()
    if row.devices is None:
        raise errors.NotFound("WORKFLOW", workflow_id)
    return Lineage(row.devices, frozenset(row.template_ids))


def may_be_id(text: str) -> bool:
    """Return whether a text has the form of an id."""
    return _id_or_none(text) is not None


def _id_or_none(text: str) -> str | None:
    try:
        return parse.parse_uuid("template", text)
    except errors.InvalidField:
        return None
