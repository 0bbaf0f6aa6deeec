"""Deletes what nothing needs any more, each in a transaction of its own, after what has made it so.

Never inside a grant, a commit or a request: who deletes has to wait for all who refer to what goes, and while it waits
it must hold nothing else.
"""

import contextlib

from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.store.agent import reap as store
from tinkwell.server.unit.store.agent.reap import Kind
from tinkwell.server.unit.store.delivery import LookAgain

# In this order each makes the next one possible.
_KINDS = (store.UNIT, store.RELATION, store.APPLICATION)


class Reaping:
    """Deletes DEAD units, DYING relations that nobody is in, and DYING applications without units."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, *, actor: str) -> None:
        """Delete what there is. What is still referred to stays for the next run."""
        for kind in _KINDS:
            for id_ in await store.find(self._database.fetch, kind):
                await self._reap(kind, id_, actor=actor)

    async def _reap(self, kind: Kind, id_: str, *, actor: str) -> None:
        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            await store.reap(transaction, kind, id_)

        # Somebody refers to it meanwhile: it is found again when that has ended.
        with contextlib.suppress(LookAgain):
            await self._database.write(work, actor=actor)
