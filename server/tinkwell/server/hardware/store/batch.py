"""Stores many machines by one statement."""

import dataclasses
from collections.abc import Mapping, Sequence

from tinkwell.server.database.database import Fetch
from tinkwell.server.hardware.store import queries

# In the order of ids, so that transactions which lock the same machines do not deadlock.
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
    """A machine that exists, possibly as a deleted one, and is locked."""

    version: int
    is_live: bool


async def lock(fetch: Fetch, ids: Sequence[str]) -> Mapping[str, Locked]:
    """Lock the existing machines with these ids until the transaction ends, and return them by id."""
    return {row["id"]: Locked(row["version"], row["is_live"]) for row in await fetch(_LOCK, ids)}


async def push(fetch: Fetch, machines: Sequence[queries.Machine]) -> Mapping[str, int]:
    """Store machines with different ids, and return the new versions of those that changed, by id.

    The rows are written in this order, and so are their addresses and, at the end of the transaction, their events.
    """
    ids = [machine.id for machine in machines]
    metadata = [machine.metadata for machine in machines]
    networks = [machine.network for machine in machines]
    return {row["id"]: row["version"] for row in await fetch(_PUSH, ids, metadata, networks)}
