"""Describes open transactions and sessions to people."""

from collections.abc import Iterable

import asyncpg

from tinkwell.core.event.holder import Holder
from tinkwell.server.log.store import statement


async def holders(
    connection: asyncpg.Connection, *, transactions: Iterable[str] = (), pids: Iterable[int] = ()
) -> list[Holder]:
    """Describe transactions, given by virtual transaction id, and sessions; those that are open for longest first.

    Leaves out those that have ended meanwhile.
    """
    return [Holder(*row) for row in await connection.fetch(statement.WHO, sorted(transactions), sorted(pids))]
