"""Gives applications leaders. Each election is a transaction of its own, which locks the application alone.

A leader stays for as long as the lease of its unit, and half a minute more, so that who was away for a moment comes
back as what it was; elected is somebody else only when that is over.
"""

from collections.abc import Sequence

from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.store.agent import leader as store
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent.leader import Candidate


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
            elected = elect(await store.candidates(transaction, application_id))
            if elected is None:
                return False
            await store.elect(transaction, application_id, elected.number)
            return True

        return (await self._database.write(work, actor=actor)).value

    async def hold_all(self, *, actor: str) -> None:
        """Elect leaders of all applications that lack one."""
        for application_id in await store.lacking(self._database.fetch):
            await self.hold(application_id, actor=actor)


def elect(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return who is elected: a started unit before others, and of these the lowest number; None without candidates."""
    return min(candidates, key=lambda each: (not each.is_started, each.number), default=None)
