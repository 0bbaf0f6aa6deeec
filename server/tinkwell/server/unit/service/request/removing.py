"""Implements RemoveUnit and Remove: the teardown of units, and their removal by force."""

import logging
from collections.abc import Sequence

from tinkwell.core import errors
from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import Life, Reason
from tinkwell.core.unit.record import Application, Unit
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.request import deploying
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.reap import Reap
from tinkwell.server.unit.service.request.request import Removal
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import relation, removal, storage, unit

_DUE_AT_ONCE = 100

logger = logging.getLogger(__name__)


class Removing:
    """Removes units and applications."""

    def __init__(self, database: Database, reap: Reap) -> None:
        self._database = database
        self._reap = reap

    async def remove_unit(self, namespace: str, name: str, asked: Removal, *, actor: str) -> Unit:
        """Begin the teardown of a unit, or remove it by force. Return the unit as it is afterwards.

        Raises `errors.InvalidField` and `errors.NotFound`.
        """
        named = requests.parse_unit(namespace, name)
        requests.check_removal(asked)

        async def work(transaction: Transaction) -> Unit:
            application = names.application_of(named.name)
            if application not in await applications.lock(transaction, named.namespace, [application]):
                raise missing(named.name)
            found = await unit.lock(transaction, named.namespace, named.name)
            if found is None:
                raise missing(named.name)
            before = found.life
            await _end(transaction, [found.id], asked, reason=Reason.UNIT_REMOVED, actor=actor)
            ended = await unit.find_by_id(transaction.fetch, found.id)
            assert ended is not None
            transaction.changed = ended.life is not before
            return ended

        ended = (await self._database.write(work, actor=actor)).value
        await self._reap(actor=actor)
        return ended

    async def remove(self, namespace: str, name: str, asked: Removal, *, actor: str) -> Application:
        """Begin the end of an application, of all its units, and of its relations, on both sides in parallel.

        Raises `errors.InvalidField` and `errors.NotFound`.
        """
        named = requests.parse_application(namespace, name)
        requests.check_removal(asked)

        async def work(transaction: Transaction) -> Application:
            locked = (await applications.lock(transaction, named.namespace, [named.name])).get(named.name)
            if locked is None:
                raise deploying.missing(named.namespace, named.name)
            units = await unit.lock_all(transaction, locked.id)
            transaction.changed = await applications.mark_dying(transaction, locked.id, actor=actor)
            transaction.changed |= await _end(transaction, units, asked, reason=Reason.APPLICATION_REMOVED, actor=actor)
            await relation.mark_all_dying(transaction, locked.id, actor=actor)
            found = await applications.find_by_id(transaction.fetch, locked.id)
            assert found is not None
            return found

        found = (await self._database.write(work, actor=actor)).value
        await self._reap(actor=actor)
        return found

    async def force_due(self) -> None:
        """Remove the units by force whose grace is over, each in a transaction of its own."""
        due = await removal.list_due(self._database.fetch, limit=_DUE_AT_ONCE)
        for application_id, unit_id in due:
            await self._force(application_id, unit_id)
        if due:
            await self._reap(actor="")

    async def _force(self, application_id: str, unit_id: str) -> None:
        found = await unit.find_by_id(self._database.fetch, unit_id)

        async def work(transaction: Transaction) -> None:
            transaction.changed = await removal.lock_due(transaction, application_id, unit_id)
            if transaction.changed:
                await removal.bury(transaction, [unit_id], is_forced=True, reason=Reason.UNIT_REMOVED, actor="")

        await self._database.write(work, actor="")
        logger.info("a unit is ended by force", extra={"unit": found.name if found else unit_id})


def missing(name: str) -> errors.NotFound:
    """Return the error for a unit that does not exist."""
    return errors.NotFound("UNIT", name)


async def _end(
    transaction: Transaction, unit_ids: Sequence[str], asked: Removal, *, reason: Reason, actor: str
) -> bool:
    """Mark units as dying, and bury those that owe nothing or are removed by force now.

    Return False if nothing changes.
    """
    grace = float(asked.grace_seconds) if asked.force else None
    is_changed = await removal.mark_dying(
        transaction,
        unit_ids,
        reason=reason,
        actor=actor,
        keeps_storage=asked.keep_storage,
        force_after_seconds=grace or None,
    )
    if asked.keep_storage:
        await storage.keep(transaction, unit_ids)
    if asked.force and not asked.grace_seconds:
        living = [each.id for each in await unit.find_all(transaction.fetch, unit_ids) if each.life is not Life.DEAD]
        await removal.bury(transaction, living, is_forced=True, reason=reason, actor=actor)
        return is_changed or bool(living)
    if grace:
        await removal.force_later(transaction, unit_ids, after_seconds=grace)
    idle = await removal.owing_nothing(transaction, unit_ids)
    await removal.bury(transaction, idle, is_forced=False, reason=reason, actor=actor)
    return is_changed or bool(idle)
