"""The operations that are held under leases, listed for a new owner."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.release.store import queries


class OperationHolds:
    """Answers the questions of `tinkwell.server.lease` about operations."""

    async def inherited(self, connection: AsyncConnection, lease_id: str, *, limit: int) -> Sequence[str]:
        """Return the ids of operations that are held under a lease."""
        return await queries.inherited(connection, lease_id, limit=limit)

    async def lost(self, connection: AsyncConnection, *, limit: int) -> Sequence[str]:
        """Return the ids of operations whose lease is over."""
        return await queries.lost(connection, limit=limit)
