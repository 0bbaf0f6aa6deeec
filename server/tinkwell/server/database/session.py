"""What our sessions of PostgreSQL depend on, and how they begin. Every connection of ours is made here.

A session begins with what ALTER ROLE, ALTER DATABASE and the configuration say. An administrator sets timeouts there, a
search_path or a DateStyle for other programs, and ours must work all the same. So a session names at its start all that
its statements depend on, which wins over those three, and over the `options` of the URL.

What is left to administrators: `role`; `synchronous_commit`, but for `off`, since what was answered must survive a
crash; tablespaces and access methods; memory, parallel workers and costs; what is logged and counted.
"""

import functools
from collections.abc import Mapping
from typing import Any

import asyncpg
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from tinkwell.server import database_url as urls
from tinkwell.server.database import dial

CONNECT_SECONDS = 10
_SYNCHRONOUS_COMMIT = """
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""
# All releases of PostgreSQL that we support know these, and every role may set them.
_PINNED = {
    # Where the schema is. pg_catalog comes before it unless it is named.
    "search_path": "public",
    # How values are read and written as text.
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    # What a transaction is.
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "row_security": "on",
    # How long things may take: as long as we wait for them, unless the session says something else.
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "exit_on_error": "off",
    "client_min_messages": "warning",
    # Without these, each look at the log would read all of it.
    "enable_indexscan": "on",
    "enable_indexonlyscan": "on",
    "enable_nestloop": "on",
    "enable_partition_pruning": "on",
}
# Few rows are found by their keys again and again. To plan that anew takes longer than to do it, and compiling even
# longer: to some releases of PostgreSQL what is off costs so much that it seems worth it.
_BY_KEY = {
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    # So a plan that was made while a table, or a partition, was nearly empty is still good when that has filled.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}
# PostgreSQL ends a session whose server is cut off.
_KEEPALIVE = {"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}

# For a task that may take long, such as a migration.
TASK = {"application_name": "tinkwell"}
# For requests. A session that stops between its statements would hold its locks, and with them the delivery of events.
POOL = {
    **_BY_KEY,
    "application_name": "tinkwell",
    "idle_in_transaction_session_timeout": "10s",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
}
READER = {**_KEEPALIVE, **_BY_KEY, "application_name": "tinkwell reader"}
REPLAY = {**_KEEPALIVE, "application_name": "tinkwell replay"}
LISTENER = {**_KEEPALIVE, "application_name": "tinkwell listener"}
# Three times the longest sleep: a frozen process gives the bell back.
BELL = {**_KEEPALIVE, "application_name": "tinkwell bell", "idle_in_transaction_session_timeout": "15s"}
RETENTION = {
    **_KEEPALIVE,
    "application_name": "tinkwell retention",
    "idle_in_transaction_session_timeout": "10s",
    "lock_timeout": "5s",
    # A revision that is promised to be forgotten stays so after a crash.
    "synchronous_commit": "on",
}
# A table stays locked as long as a transaction, in which partitions cannot be detached: so another session has the
# lock, and is idle for as long as a run takes. A server that stands still gives it back in the end.
RETENTION_TURN = {
    **RETENTION,
    "application_name": "tinkwell retention turn",
    "idle_in_transaction_session_timeout": "1h",
}
# Who relays stands for election anew when it says nothing for a while.
RELAY = {**_KEEPALIVE, "application_name": "tinkwell relay", "idle_in_transaction_session_timeout": "15s"}


async def connect(
    database_url: str,
    settings: Mapping[str, str],
    *,
    connect_seconds: float = CONNECT_SECONDS,
    command_seconds: float | None = None,
    kind: type[asyncpg.Connection] = asyncpg.Connection,
) -> asyncpg.Connection:
    """Begin a session with these settings beside those that all have; raises what the driver raises.

    A statement may take `command_seconds` unless it says something else. Raises `database_url.InvalidUrl`.
    """
    arguments = _arguments(database_url, settings, connect_seconds)
    return await _open(**arguments, command_timeout=command_seconds, connection_class=kind)


def create_pool(
    database_url: str, settings: Mapping[str, str], *, command_seconds: float, max_size: int
) -> asyncpg.pool.Pool:
    """Make a pool of such sessions, to be awaited; raises `database_url.InvalidUrl`."""
    return asyncpg.create_pool(
        **_arguments(database_url, settings, CONNECT_SECONDS),
        min_size=0,
        max_size=max_size,
        command_timeout=command_seconds,
        connect=_open,
        # Nothing changes a session, so there is nothing to undo, which would be a statement more each time.
        reset=_leave,
    )


def create_engine(
    database_url: str, settings: Mapping[str, str], *, command_seconds: float | None = None, **options: Any
) -> AsyncEngine:
    """Make SQLAlchemy's engine of such sessions, with further options of its own; raises `database_url.InvalidUrl`."""
    arguments = _arguments(database_url, settings, CONNECT_SECONDS)
    # Where to connect is said to the driver, not to SQLAlchemy, which would read the URL by other rules.
    creator = functools.partial(_open, **arguments, command_timeout=command_seconds)
    return create_async_engine("postgresql+asyncpg://", async_creator=creator, **options)


async def _open(*dsn: None, **arguments: Any) -> asyncpg.Connection:
    """Connect to the primary, and settle the session; a pool of asyncpg's gives a DSN that says nothing."""
    connection = await dial.connect(*dsn, **arguments)
    try:
        await _settle(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


def _arguments(database_url: str, settings: Mapping[str, str], connect_seconds: float) -> dict[str, Any]:
    return urls.parse(database_url).arguments({**_PINNED, **settings}, connect_seconds=connect_seconds)


async def _settle(connection: asyncpg.Connection) -> None:
    """Set what not every release of PostgreSQL knows, what not every role may set, and what depends on what is set.

    As a parameter of the start, each of the former two would be a reason to refuse the session.
    """
    statements = [_SYNCHRONOUS_COMMIT]
    if connection.get_server_version().major >= 17:
        statements.insert(0, "SET transaction_timeout = 0")
    # No other role may unset it.
    if getattr(connection.get_settings(), "is_superuser", "off") == "on":
        statements.append("SET session_replication_role = origin")
    await connection.execute(";".join(statements), timeout=CONNECT_SECONDS)


async def _leave(_: asyncpg.Connection) -> None:
    """Leave a session as it is."""
