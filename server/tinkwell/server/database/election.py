"""Which server relays the log: the one whose session has locked the table `relay`, which is there for nothing else.

A lock ends with the session, so a server that dies gives it back. One that merely stops, frozen or cut off, gives it
back as well: its session is ended when it says nothing for a while. It is no advisory lock, which any role may take:
who has no privilege on the table keeps nobody from relaying.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tinkwell.server.database import engine, reach, session

_LOCK = "BEGIN; LOCK TABLE ONLY relay IN SHARE UPDATE EXCLUSIVE MODE NOWAIT"
# Gives the lock back for a moment, so that nobody waits for ever who wants to drop the table, as a restore does.
_LOCK_AGAIN = f"COMMIT; {_LOCK}"
_TIMEOUT_SECONDS = 5


class PostgresElection:
    """Implements `tinkwell.server.log.relay.broker.Election`."""

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url

    @asynccontextmanager
    async def stand(self) -> AsyncIterator["PostgresLeadership | None"]:
        """See `Election.stand`."""
        with reach.lost():
            connection = await session.connect(
                self._database_url,
                session.RELAY,
                connect_seconds=_TIMEOUT_SECONDS,
                command_seconds=_TIMEOUT_SECONDS,
            )
        try:
            yield PostgresLeadership(connection) if await _try(connection) else None
        finally:
            # Gives the lock back without waiting for an answer.
            connection.terminate()


class PostgresLeadership:
    """Implements `tinkwell.server.log.relay.broker.Leadership`."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def confirm(self) -> bool:
        """See `Leadership.confirm`."""
        try:
            await self._connection.execute(_LOCK_AGAIN)
        except (asyncpg.PostgresError, *engine.CONNECTION_ERRORS):
            return False
        return True


async def _try(connection: asyncpg.Connection) -> bool:
    with reach.lost():
        if await connection.fetchval("SELECT pg_is_in_recovery()"):
            return False
        try:
            await connection.execute(_LOCK)
        except asyncpg.LockNotAvailableError:
            return False
        return True
