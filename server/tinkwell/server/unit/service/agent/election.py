"""Elects the leaders of applications.

Each election is a transaction of its own, which locks only the application. A leader stays leader until half a minute
after its unit's lease is over, so that an agent that was away for a moment comes back to an unchanged leader. Only then
is another unit elected.
"""

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import Life
from tinkwell.core.unit.resolver import leadership
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import leader as store


class Elections:
    """Elects leaders for applications that have none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def hold(self, application_id: str, *, actor: str) -> bool:
        """Elect a leader for a living application that has none. Return whether a unit was elected."""

        async def work(transaction: Transaction) -> bool:
            transaction.changed = False
            if not await delivery.lock_application(transaction, application_id):
                return False
            # A second statement after the lock, because another transaction may have held the election in the meantime.
            if not await store.lacks(transaction, application_id):
                return False
            candidates = await store.candidates(transaction, application_id)
            elected = leadership.elect(candidates, application_life=Life.ALIVE, leader="", leader_remaining_seconds=0)
            if elected:
                await store.elect(transaction, application_id, name.number_of(elected))
            return bool(elected)

        return (await self._database.write(work, actor=actor)).value

    async def hold_all(self, *, actor: str) -> None:
        """Elect leaders for all applications that have none."""
        for application_id in await store.lacking(self._database.fetch):
            await self.hold(application_id, actor=actor)
