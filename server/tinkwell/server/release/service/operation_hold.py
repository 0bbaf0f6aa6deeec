"""The operations that are held under leases, named to those who acquire one."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.release.store import queries


class OperationHolds:
    """What `tinkwell.server.lease` asks about operations."""

    async def inherited(self, connection: AsyncConnection, lease_id: str, *, limit: int) -> Sequence[str]:
        """Return operations that are held under a lease."""
        return await queries.inherited(connection, lease_id, limit=limit)

    async def lost(self, connection: AsyncConnection, *, limit: int) -> Sequence[str]:
        """Return operations that are held under a lease that is over."""
        return await queries.lost(connection, limit=limit)
