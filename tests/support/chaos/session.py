"""Sessions of those who disturb: they work as always, whatever roles and databases have been told to begin with."""

import contextlib
from collections.abc import AsyncIterator

import asyncpg

from tinkwell.server.database import engine

# What a session can end with, or be refused with.
ERRORS = (asyncpg.PostgresError, *engine.CONNECTION_ERRORS)
# Settings that a role or a database may have, as those of a new database.
SETTINGS = {
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "search_path": '"$user", public',
    "session_replication_role": "origin",
    "row_security": "on",
    "synchronous_commit": "on",
    "client_min_messages": "notice",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
}
_APPLICATION = "chaos fault"
_CONNECT_SECONDS = 5


@contextlib.asynccontextmanager
async def connected(
    database_url: str, *, command_seconds: float = 20, lock_seconds: int = 0
) -> AsyncIterator[asyncpg.Connection]:
    """Connect for a while; a lock is waited for so long at most, 0 without end. Raises what `ERRORS` are."""
    connection = await asyncpg.connect(
        database_url,
        timeout=_CONNECT_SECONDS,
        command_timeout=command_seconds,
        server_settings={**SETTINGS, "application_name": _APPLICATION, "lock_timeout": f"{lock_seconds}s"},
    )
    try:
        yield connection
    finally:
        connection.terminate()
