"""Charms: stored by the digests of their packages, whose content is stored in chunks; found and listed."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.charm import metadata
from tinkwell.core.charm.record import Charm, StoredCharm
from tinkwell.core.value import document
from tinkwell.server.database.database import Fetch, Transaction

CHUNK_BYTES = 1024 * 1024

_LISTED_ROWS = 100
# A use of a charm is written to its row at most once in this time, so that few transactions wait for the row.
_USE_SECONDS = 3_600.0
_CHARM = """
    CAST(c.id AS text) AS id, c.version, c.digest, c.size, CAST(c.manifest AS text) AS manifest, c.warnings,
    c.created_at, c.updated_at
"""
FIND = f"SELECT {_CHARM} FROM charm c WHERE c.digest = $1"  # noqa: S608
_INSERT = """
    INSERT INTO charm (digest, name, kind, summary, manifest, endpoints, storages, warnings, size)
    VALUES ($1, $2, $3, $4, $5::text::json, $6::text[], $7::text[], $8::text[], $9)
        ON CONFLICT (digest) DO NOTHING
    RETURNING CAST(id AS text) AS id
"""
_INSERT_CHUNK = "INSERT INTO charm_chunk (charm_id, number, data) VALUES ($1::text::uuid, $2, $3)"
USE = """
    UPDATE charm SET used_at = clock_timestamp()
     WHERE digest = $1 AND used_at < clock_timestamp() - make_interval(secs => $2)
"""
# A unit may run a charm that its application no longer has.
FORGET = """
    DELETE FROM charm
     WHERE id IN (SELECT c.id FROM charm c
                   WHERE c.used_at < clock_timestamp() - make_interval(secs => $1)
                     AND NOT EXISTS (SELECT FROM application a WHERE a.charm = c.digest)
                     AND NOT EXISTS (SELECT FROM unit u WHERE c.digest IN (u.charm, u.charm_seen))
                   ORDER BY c.used_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
_LIST = sqlalchemy.text(f"""
    SELECT {_CHARM} FROM charm c WHERE CAST(:name AS text) = '' OR c.name = :name
     ORDER BY c.name, c.created_at DESC, c.id
""").execution_options(yield_per=_LISTED_ROWS)  # noqa: S608


async def insert(transaction: Transaction, new: Charm) -> str | None:
    """Store a charm without its package, and return its id, or None if it exists."""
    manifest = new.manifest
    values = (
        new.digest,
        manifest.name,
        manifest.kind.value,
        manifest.summary,
        document.dump_json(manifest.as_json()),
        sorted(manifest.endpoints),
        sorted(manifest.storages),
        list(new.warnings),
        new.size,
    )
    found = await transaction.fetch(_INSERT, *values)
    return found[0]["id"] if found else None


async def insert_chunk(transaction: Transaction, charm_id: str, number: int, data: bytes) -> None:
    """Store a chunk of a package. Chunks are numbered from 0."""
    await transaction.fetch(_INSERT_CHUNK, charm_id, number, data)


async def use(fetch: Fetch, digest: str) -> None:
    """Record the use of a charm."""
    await fetch(USE, digest, _USE_SECONDS)


async def forget(fetch: Fetch, *, age_seconds: float, limit: int) -> None:
    """Delete some of the charms that nothing refers to and that were not used for this long."""
    await fetch(FORGET, age_seconds, limit)


async def find(fetch: Fetch, digest: str) -> StoredCharm | None:
    """Return the charm with a digest, or None if there is none."""
    found = await fetch(FIND, digest)
    return _charm(found[0]) if found else None


async def list_charms(connection: AsyncConnection, name: str) -> AsyncGenerator[StoredCharm, None]:
    """Yield the charms with a name, or all, sorted by name and then newest first."""
    async with connection.stream(_LIST, {"name": name}) as rows:
        async for found in rows.mappings():
            yield _charm(found)


def _charm(found: Mapping[Any, Any]) -> StoredCharm:
    manifest = metadata.from_json(document.parse_json("manifest", found["manifest"]))
    columns: dict[str, Any] = {**found, "manifest": manifest, "warnings": tuple(found["warnings"])}
    return StoredCharm(**columns)
