"""Elects the server that relays the log: the one whose session has locked the table `relay`, which has no other use.

A lock ends with its session, so a server that dies releases it. A server that is frozen or cut off releases it as well,
because PostgreSQL ends a session that is silent for a while. It is not an advisory lock, because any role may take
those: a role without privileges on the table cannot stop the relay.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tinkwell.server.database import engine, reach, session

_LOCK = "BEGIN; LOCK TABLE ONLY relay IN SHARE UPDATE EXCLUSIVE MODE NOWAIT"
# Releases the lock for a moment, so that a transaction that wants to drop the table, as a restore does, can proceed.
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
            # This releases the lock without waiting for an answer.
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
