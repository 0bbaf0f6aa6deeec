"""Deletes rows that nothing needs, each in a transaction of its own.

This never happens inside a grant, a commit or a request: a deletion waits for all transactions that refer to the row,
and must hold no other lock while it waits.
"""

import contextlib

from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.store.agent import reap as store
from tinkwell.server.unit.store.agent.reap import Kind
from tinkwell.server.unit.store.delivery import LookAgain

# In this order, each deletion makes the next one possible.
_KINDS = (store.UNIT, store.RELATION, store.APPLICATION)


class Reaping:
    """Deletes DEAD units, DYING relations that nobody is in, and DYING applications without units."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, *, actor: str) -> None:
        """Delete all that can be deleted. A row that something refers to stays for the next run."""
        for kind in _KINDS:
            for id_ in await store.find(self._database.fetch, kind):
                await self._reap(kind, id_, actor=actor)

    async def _reap(self, kind: Kind, id_: str, *, actor: str) -> None:
        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            await store.reap(transaction, kind, id_)

        # Another transaction refers to the row now. A later run finds the row again.
        with contextlib.suppress(LookAgain):
            await self._database.write(work, actor=actor)
