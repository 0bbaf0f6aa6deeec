"""Gives applications leaders. Each election is a transaction of its own, which locks the application alone.

A leader stays for as long as the lease of its unit, and half a minute more, so that who was away for a moment comes
back as what it was; elected is somebody else only when that is over.
"""

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import Life
from tinkwell.core.unit.resolver import leadership
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import leader as store


class Elections:
    """Elects where nobody leads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def hold(self, application_id: str, *, actor: str) -> bool:
        """Elect a leader of an application that lives and has none; return whether somebody was elected."""

        async def work(transaction: Transaction) -> bool:
            transaction.changed = False
            if not await delivery.lock_application(transaction, application_id):
                return False
            # By a statement after the lock: somebody else may have held the election meanwhile.
            if not await store.lacks(transaction, application_id):
                return False
            candidates = await store.candidates(transaction, application_id)
            elected = leadership.elect(candidates, application_life=Life.ALIVE, leader="", leader_remaining_seconds=0)
            if elected:
                await store.elect(transaction, application_id, name.number_of(elected))
            return bool(elected)

        return (await self._database.write(work, actor=actor)).value

    async def hold_all(self, *, actor: str) -> None:
        """Elect leaders of all applications that lack one."""
        for application_id in await store.lacking(self._database.fetch):
            await self.hold(application_id, actor=actor)
