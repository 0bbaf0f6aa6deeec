"""Which server relays the log: the one whose session holds an advisory lock.

A lock of a session ends with the session, so a server that dies gives it back. One that merely stops, frozen or cut
off, gives it back as well: its session is ended when it says nothing for a while.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tinkwell.server.database import dial, engine, reach

# An arbitrary number that no other lock of ours has; locks belong to the database they were taken in.
_KEY = 0x74696E6B72656C79
_TRY = "SELECT CASE WHEN pg_is_in_recovery() THEN false ELSE pg_try_advisory_lock($1) END"
_TIMEOUT_SECONDS = 5
_SESSION = {
    "application_name": "tinkwell relay",
    "idle_session_timeout": "15s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}


class PostgresElection:
    """Implements `tinkwell.server.log.relay.broker.Election`."""

    def __init__(self, database_url: str) -> None:
        self._arguments = engine.arguments(database_url, _SESSION, connect_seconds=_TIMEOUT_SECONDS)

    @asynccontextmanager
    async def stand(self) -> AsyncIterator["PostgresLeadership | None"]:
        """See `Election.stand`."""
        with reach.lost():
            connection = await dial.connect(**self._arguments, command_timeout=_TIMEOUT_SECONDS)
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
            await self._connection.execute("SELECT 1")
        except (asyncpg.PostgresError, *engine.CONNECTION_ERRORS):
            return False
        return True


async def _try(connection: asyncpg.Connection) -> bool:
    with reach.lost():
        return bool(await connection.fetchval(_TRY, _KEY))
