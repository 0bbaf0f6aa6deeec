"""Operations that are held under leases. Time is the database's."""

from collections.abc import Sequence

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

INHERITED = sqlalchemy.text("""
    SELECT CAST(o.id AS text) FROM operation o
     WHERE o.lease_id = CAST(:id AS uuid) AND o.state IN ('PENDING', 'RUNNING')
     ORDER BY o.created_at, o.id
     LIMIT :limit
""")
LOST = sqlalchemy.text("""
    SELECT CAST(o.id AS text)
      FROM operation o LEFT JOIN lease l ON l.id = o.lease_id
     WHERE o.state IN ('PENDING', 'RUNNING') AND o.lease_id IS NOT NULL
       AND (l.id IS NULL OR l.expires_at <= clock_timestamp())
     ORDER BY o.created_at, o.id
     LIMIT :limit
""")


async def inherited(connection: AsyncConnection, lease_id: str, *, limit: int) -> Sequence[str]:
    """Return operations that are held under a lease."""
    return list((await connection.execute(INHERITED, {"id": lease_id, "limit": limit})).scalars())


async def lost(connection: AsyncConnection, *, limit: int) -> Sequence[str]:
    """Return operations that are held under a lease that is over."""
    return list((await connection.execute(LOST, {"limit": limit})).scalars())
