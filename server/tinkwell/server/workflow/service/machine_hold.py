"""The machines that workflows hold under leases: listed for a new owner, and released by their owner."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.workflow.store import hold


class MachineHolds:
    """Answers the questions of `tinkwell.server.lease` about workflows, and releases their machines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def inherited(self, connection: AsyncConnection, lease_id: str, *, limit: int) -> Sequence[str]:
        """Return the ids of workflows that hold machines under a lease."""
        return await hold.inherited(connection, lease_id, limit=limit)

    async def lost(self, connection: AsyncConnection, *, limit: int) -> Sequence[str]:
        """Return the ids of workflows that may still run on a machine whose lease is over."""
        return await hold.lost(connection, limit=limit)

    async def release(self, token: int, *, workflow_id: str, worker_id: str, actor: str) -> None:
        """Release a machine that a workflow holds under a lease, or all of them if `worker_id` is empty.

        Raises `errors.InvalidField`.
        """
        if not workflow_id:
            raise errors.InvalidField.of("workflow_id", "say of which workflow the machine is to be released")
        checks = check.Checks()
        workflow_id = checks.take(parse.parse_uuid, "workflow_id", workflow_id)
        worker_id = worker_id and checks.take(parse.parse_uuid, "worker_id", worker_id)
        checks.finish()

        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            await hold.release(transaction.connection, token, workflow_id=workflow_id, worker_id=worker_id)

        await self._database.write(work, actor=actor)
