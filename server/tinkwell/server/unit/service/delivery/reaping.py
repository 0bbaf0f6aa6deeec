"""Deletes what nothing needs any more, each in a transaction of its own, after what has made it so.

Never inside a grant, a commit or a request: who deletes has to wait for all who refer to what goes, and while it waits
it must hold nothing else.
"""

import asyncpg
from sqlalchemy import exc

from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.store.agent import reap as store
from tinkwell.server.unit.store.agent.reap import Kind

# In this order each makes the next one possible.
_KINDS = (store.UNIT, store.RELATION, store.APPLICATION)
_FOREIGN_KEY = "23503"


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

        try:
            await self._database.write(work, actor=actor)
        except (exc.IntegrityError, asyncpg.ForeignKeyViolationError) as error:
            if not is_outrun(error):
                raise


def is_outrun(error: Exception) -> bool:
    """Whether a row is referred to that is gone, or goes that is referred to, so that one has to look again."""
    original = error.orig if isinstance(error, exc.DBAPIError) else error
    return getattr(original, "sqlstate", None) == _FOREIGN_KEY
