"""Ends operations that are due, and deletes what is too old to be kept."""

import logging

from tinkwell.core import errors
from tinkwell.core.release.transition import change as rule
from tinkwell.core.release.transition import ending
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.store import change, chart, history, lock, queries

logger = logging.getLogger(__name__)

# The operations that one check ends. The next check ends the rest.
MAX_DUE = 100
MAX_FORGOTTEN = 20
# The time for which an uninstalled release stays visible after its end, and for which an uploaded chart is kept that no
# release uses.
FORGET_SECONDS = 86_400.0


class Expiry:
    """Ends operations that are past their deadline or cancelled and that no live lease holds, when a caller asks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def end(self, operation_id: str, *, actor: str) -> None:
        """End an operation if it is due."""

        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            locked = await lock.lock(transaction, operation_id)
            if locked is not None and ending.is_due(locked.operation, locked.hold):
                leftover = await lock.leftover(transaction, locked)
                await write(transaction, locked, expire(locked, leftover))

        await self._database.write(work, actor=actor)

    async def end_of_release(self, namespace: str, name: str, *, actor: str) -> None:
        """End the operation of a release if it is due."""
        if (due := await queries.due_of_release(self._database.fetch, namespace, name)) is not None:
            await self.end(due, actor=actor)

    async def end_all(self, *, actor: str) -> None:
        """End the operations that are due, and delete old releases and charts.

        If ending one operation fails, this is logged, and the others are still ended: the caller works for all
        releases.
        """
        for operation_id in await queries.due(self._database.fetch, limit=MAX_DUE):
            try:
                await self.end(operation_id, actor=actor)
            except errors.Unavailable:
                raise  # none can be ended then
            except Exception:
                logger.exception("an operation that is due cannot be ended", extra={"operation": operation_id})
        await history.forget_releases(self._database.fetch, age_seconds=FORGET_SECONDS, limit=MAX_FORGOTTEN)
        await chart.forget(self._database.fetch, age_seconds=FORGET_SECONDS, limit=MAX_FORGOTTEN)


def expire(locked: lock.Locked, leftover: ending.Leftover) -> rule.Changes:
    """Return the changes that end an operation which is due."""
    return ending.expire(locked.operation, leftover, cancel_reason=locked.cancel_reason)


async def write(
    transaction: Transaction,
    locked: lock.Locked,
    changes: rule.Changes,
    *,
    lease_id: str = "",
    cancel_reason: str | None = None,
) -> None:
    """Write the end of an operation whose release is locked. The operation's options limit the history.

    An operation that leaves its release unchanged leaves its history unchanged, too.
    """
    move = change.Move(
        operation_id=locked.operation.id, changes=changes, lease_id=lease_id, cancel_reason=cancel_reason
    )
    await change.write(transaction, move)
    ended = locked.operation
    keep = ended.options.history_max if ended.kind.changes_release else None
    await history.forget(transaction, locked.release_id, keep=keep)


def missing(operation_id: str) -> errors.NotFound:
    """Return the error for an operation that does not exist."""
    return errors.NotFound("OPERATION", operation_id)
