"""Many machines stored by one statement."""

import dataclasses
from collections.abc import Mapping, Sequence

import sqlalchemy
from sqlalchemy import Text, func
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.hardware.store import queries, table

_HARDWARE = table.hardware.c

# In the order of ids, so that those who lock the same machines wait for one another in turn.
_LOCK = (
    sqlalchemy.select(_HARDWARE.id, _HARDWARE.version, _HARDWARE.deleted_at.is_(None))
    .where(_HARDWARE.id == func.any(sqlalchemy.bindparam("ids", type_=ARRAY(UUID(as_uuid=False)))))
    .order_by(_HARDWARE.id)
    .with_for_update(key_share=True)
)


def _push() -> postgresql.Insert:
    unnested = func.unnest(
        sqlalchemy.bindparam("ids", type_=ARRAY(UUID(as_uuid=False))),
        sqlalchemy.bindparam("metadata", type_=ARRAY(Text)),
        sqlalchemy.bindparam("network", type_=ARRAY(Text)),
    )
    columns = (
        sqlalchemy.column("id", UUID(as_uuid=False)),
        sqlalchemy.column("metadata", Text),
        sqlalchemy.column("network", Text),
    )
    given = unnested.table_valued(*columns, with_ordinality="place").render_derived("given")
    rows = sqlalchemy.select(
        given.c.id, sqlalchemy.cast(given.c.metadata, JSONB), sqlalchemy.cast(given.c.network, JSONB)
    ).order_by(given.c.place)
    pushed = postgresql.insert(table.hardware).from_select(["id", "metadata", "network"], rows, include_defaults=False)
    return queries.replace(pushed, sqlalchemy.true())


_PUSH = _push().returning(_HARDWARE.id, _HARDWARE.version)


@dataclasses.dataclass(frozen=True, slots=True)
class Locked:
    """A machine that is there, and nobody else can change meanwhile; perhaps it is deleted."""

    version: int
    is_live: bool


async def lock(connection: AsyncConnection, ids: Sequence[str]) -> Mapping[str, Locked]:
    """Lock those machines of these ids that are there until the transaction ends, and return them by id."""
    rows = await connection.execute(_LOCK, {"ids": list(ids)})
    return {hardware_id: Locked(version, is_live) for hardware_id, version, is_live in rows}


async def push(
    connection: AsyncConnection, ids: Sequence[str], metadata: Sequence[str], network_texts: Sequence[str]
) -> Mapping[str, int]:
    """Store machines of different ids, and return the new versions of those that were not the same already, by id.

    Their rows are written, and their addresses taken, in this order, and so are their events when the transaction ends.
    """
    values = {"ids": list(ids), "metadata": list(metadata), "network": list(network_texts)}
    return {row.id: row.version for row in await connection.execute(_PUSH, values)}
