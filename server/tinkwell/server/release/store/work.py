"""The documents of an operation, read one at a time, because each may have several megabytes."""

from collections.abc import AsyncGenerator, Mapping

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# The documents of an operation that renders nothing are those of a stored revision: its own one, or another one for a
# rollback, a test, and a plan of what is installed. Its plan is its own as soon as it has one.
OWN = text("""
    SELECT CAST(coalesce(o.source, v.source) AS text) AS source, CAST(v.manifest AS text) AS manifest,
           CAST(v.late AS text) AS late, CAST(coalesce(o.plan, v.plan) AS text) AS plan,
           CAST(p.result AS text) AS expected
      FROM operation o
      LEFT JOIN operation p ON p.id = o.plan_of
      LEFT JOIN release_revision v
        ON v.release_id = o.release_id AND v.revision = coalesce(nullif(o.revision, 0), o.rollback_of)
     WHERE o.id = CAST(:operation_id AS uuid)
""")
# Resources are removed in the reverse order of these plans.
REMOVED = text("""
    SELECT v.revision, CAST(v.plan AS text) AS plan
      FROM operation o JOIN release_revision v ON v.release_id = o.release_id
     WHERE o.id = CAST(:operation_id AS uuid)
       AND EXISTS (SELECT FROM release_resource e WHERE e.release_id = v.release_id AND e.revision = v.revision)
     ORDER BY v.revision
""").execution_options(yield_per=1)

_REVISION = text("""
    SELECT CAST(source AS text) AS source, CAST(manifest AS text) AS manifest FROM release_revision
     WHERE release_id = CAST(:release_id AS uuid) AND revision = :revision
""")


async def revision(connection: AsyncConnection, release_id: str, number: int) -> Mapping[str, str]:
    """Return the source and the manifest of a revision as they are stored, or nothing if there is no such revision."""
    found = (
        (await connection.execute(_REVISION, {"release_id": release_id, "revision": number})).mappings().one_or_none()
    )
    return dict(found) if found is not None else {}


async def documents(connection: AsyncConnection, operation_id: str) -> AsyncGenerator[tuple[str, str], None]:
    """Yield the names and texts of an operation's documents: source, manifest, late, plan, expected, and removed/N.

    Missing documents are left out, such as the manifest before a plan is submitted.
    """
    own = (await connection.execute(OWN, {"operation_id": operation_id})).mappings().one()
    for name, found in own.items():
        if found is not None:
            yield name, found
    async with connection.stream(REMOVED, {"operation_id": operation_id}) as rows:
        async for row in rows:
            yield f"removed/{row.revision}", row.plan
