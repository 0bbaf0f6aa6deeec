"""Charts: stored by the digests of their archives, found, listed, forgotten."""

import dataclasses
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.release import record
from tinkwell.server.database.database import Fetch, Transaction

_LISTED_ROWS = 500
# A use of a chart is written to its row at most once in this time, so that few transactions wait for the row.
_USE_SECONDS = 3_600.0

_CHART = """
    CAST(c.id AS text) AS id, c.version, c.digest, c.name, c.chart_version,
    coalesce(c.metadata ->> 'appVersion', '') AS app_version,
    left(coalesce(c.metadata ->> 'description', ''), 1000) AS description, c.size, c.warnings, c.created_at,
    c.updated_at
"""
FIND = f"SELECT {_CHART}, CAST(c.metadata AS text) AS metadata FROM chart c WHERE c.digest = $1"  # noqa: S608
ARCHIVE = "SELECT CAST(id AS text) AS id, archive FROM chart WHERE digest = $1"
_INSERT = """
    INSERT INTO chart (digest, name, chart_version, metadata, warnings, archive, size)
    VALUES ($1, $2, $3, $4::text::json, $5::text[], $6, $7)
        ON CONFLICT (digest) DO NOTHING
    RETURNING id
"""
USE = """
    UPDATE chart SET used_at = clock_timestamp()
     WHERE digest = $1 AND used_at < clock_timestamp() - make_interval(secs => $2)
"""
# SKIP LOCKED lets this query and the callers that use a chart proceed without waiting for each other.
FORGET = """
    DELETE FROM chart
     WHERE id IN (SELECT c.id FROM chart c
                   WHERE c.used_at < clock_timestamp() - make_interval(secs => $1)
                     AND NOT EXISTS (SELECT FROM release_revision v WHERE v.chart_id = c.id)
                     AND NOT EXISTS (SELECT FROM operation o WHERE o.chart_id = c.id)
                   ORDER BY c.used_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
_LIST = sqlalchemy.text(f"""
    SELECT {_CHART} FROM chart c WHERE CAST(:name AS text) = '' OR c.name = :name
     ORDER BY c.name, c.created_at DESC, c.id
""").execution_options(yield_per=_LISTED_ROWS)  # noqa: S608
ARCHIVE_OF_OPERATION = sqlalchemy.text("""
    SELECT c.archive FROM operation o
      LEFT JOIN release_revision v
        ON v.release_id = o.release_id AND v.revision = coalesce(nullif(o.revision, 0), o.rollback_of)
      JOIN chart c ON c.id = coalesce(o.chart_id, v.chart_id)
     WHERE o.id = CAST(:operation_id AS uuid)
""")
ARCHIVE_OF_REVISION = sqlalchemy.text("""
    SELECT c.archive FROM release_revision v JOIN chart c ON c.id = v.chart_id
     WHERE v.release_id = CAST(:release_id AS uuid) AND v.revision = :revision
""")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NewChart:
    """A chart to store. `metadata` is JSON text."""

    digest: str
    name: str
    chart_version: str
    metadata: str
    warnings: Sequence[str]
    archive: bytes = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Archive:
    """The archive of a chart, and the chart's id."""

    id: str
    data: bytes = dataclasses.field(repr=False)


async def insert(transaction: Transaction, new: NewChart) -> bool:
    """Store a chart. Return False if it exists."""
    values = (new.digest, new.name, new.chart_version, new.metadata, list(new.warnings), new.archive, len(new.archive))
    return bool(await transaction.fetch(_INSERT, *values))


async def use(fetch: Fetch, digest: str) -> None:
    """Record the use of a chart, which protects it from being forgotten for some time."""
    await fetch(USE, digest, _USE_SECONDS)


async def find(fetch: Fetch, digest: str) -> record.Chart | None:
    """Return the chart with a digest, including its metadata, or None if there is none."""
    found = await fetch(FIND, digest)
    return _chart(found[0]) if found else None


async def archive(fetch: Fetch, digest: str) -> Archive | None:
    """Return the archive of a chart, or None if there is none."""
    found = await fetch(ARCHIVE, digest)
    return Archive(found[0]["id"], found[0]["archive"]) if found else None


async def archive_of_operation(connection: AsyncConnection, operation_id: str) -> bytes | None:
    """Return the archive of an operation's chart, or None if it has none."""
    return (await connection.execute(ARCHIVE_OF_OPERATION, {"operation_id": operation_id})).scalar_one_or_none()


async def archive_of_revision(connection: AsyncConnection, release_id: str, revision: int) -> bytes | None:
    """Return the archive of a revision's chart, or None if it has none."""
    values = {"release_id": release_id, "revision": revision}
    return (await connection.execute(ARCHIVE_OF_REVISION, values)).scalar_one_or_none()


async def list_charts(connection: AsyncConnection, name: str) -> AsyncGenerator[record.Chart, None]:
    """Yield the charts with a name, or all, without their metadata, sorted by name and then newest first."""
    async with connection.stream(_LIST, {"name": name}) as rows:
        async for found in rows.mappings():
            yield _chart(found)


async def forget(fetch: Fetch, *, age_seconds: float, limit: int) -> None:
    """Delete some of the charts that nothing refers to and that were not used for this long."""
    await fetch(FORGET, age_seconds, limit)


def _chart(found: Mapping[Any, Any]) -> record.Chart:
    columns: dict[str, Any] = {"metadata": "", **found, "warnings": tuple(found["warnings"])}
    return record.Chart(**columns)
