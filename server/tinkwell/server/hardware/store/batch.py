"""Many machines stored by one statement."""

import dataclasses
from collections.abc import Mapping, Sequence

from tinkwell.server.database.database import Fetch
from tinkwell.server.hardware.store import queries

# In the order of ids, so that those who lock the same machines wait for one another in turn.
_LOCK = """
    SELECT id::text, version, deleted_at IS NULL AS is_live FROM hardware WHERE id = ANY ($1::text[]::uuid[])
     ORDER BY hardware.id FOR NO KEY UPDATE
"""
_PUSH = f"""
    INSERT INTO hardware AS former (id, metadata, network)
    SELECT given.id::uuid, given.metadata::jsonb, given.network::jsonb
      FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS given (id, metadata, network, place)
     ORDER BY given.place
    {queries.REPLACE}
    RETURNING id::text, version
"""  # noqa: S608


@dataclasses.dataclass(frozen=True, slots=True)
class Locked:
    """A machine that is there, and nobody else can change meanwhile; perhaps it is deleted."""

    version: int
    is_live: bool


async def lock(fetch: Fetch, ids: Sequence[str]) -> Mapping[str, Locked]:
    """Lock those machines of these ids that are there until the transaction ends, and return them by id."""
    return {row["id"]: Locked(row["version"], row["is_live"]) for row in await fetch(_LOCK, ids)}


async def push(fetch: Fetch, machines: Sequence[queries.Machine]) -> Mapping[str, int]:
    """Store machines of different ids, and return the new versions of those that were not the same already, by id.

    Their rows are written, and their addresses taken, in this order, and so are their events when the transaction ends.
    """
    ids = [machine.id for machine in machines]
    metadata = [machine.metadata for machine in machines]
    networks = [machine.network for machine in machines]
    return {row["id"]: row["version"] for row in await fetch(_PUSH, ids, metadata, networks)}
