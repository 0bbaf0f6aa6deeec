"""Finds out whose open transactions are, for people."""

from collections.abc import Iterable

import asyncpg

from tinkwell.core.event.holder import Holder
from tinkwell.server.log.store import statement


async def holders(
    connection: asyncpg.Connection, *, transactions: Iterable[str] = (), pids: Iterable[int] = ()
) -> list[Holder]:
    """Return whose the transactions, by their virtual numbers, and the sessions are, the longest open first.

    Those that have ended meanwhile are left out.
    """
    return [Holder(*row) for row in await connection.fetch(statement.WHO, sorted(transactions), sorted(pids))]
