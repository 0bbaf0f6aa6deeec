"""The settings of our sessions of PostgreSQL. Every connection of this component is made here.

A session begins with the settings of ALTER ROLE, ALTER DATABASE and the configuration. An administrator sets timeouts
there, or a search_path or a DateStyle for other programs, and our statements must work all the same. So a session sets
everything that its statements depend on at its start, which overrides those three, and the `options` of the URL.

These are left to administrators: `role`; `synchronous_commit`, except `off`, because acknowledged writes must survive a
crash; tablespaces and access methods; memory, parallel workers and costs; logging and statistics.
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
# All supported releases of PostgreSQL know these, and every role may set them.
_PINNED = {
    # The schema's place. pg_catalog is searched before it unless it is named.
    "search_path": "public",
    # The text forms of values.
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    # The properties of transactions.
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "row_security": "on",
    # No limits but our own, unless the session sets others.
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
# Few rows are found by their keys again and again. Planning that again takes longer than running it, and compiling
# takes even longer. Some releases of PostgreSQL estimate such high costs for disabled plans that they would compile.
_BY_KEY = {
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    # So a plan that was made for a nearly empty table or partition is still good when that has filled.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}
# PostgreSQL ends a session whose server is cut off or dead. While the session waits for a lock, PostgreSQL does not
# notice that, and the session keeps its own locks. A restore would wait for these until PostgreSQL finds a deadlock and
# ends one of the two, perhaps the restore. The limit is longer than that of most statements, so a living server gives
# up first.
_LEFT_ALONE = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "lock_timeout": "15s",
}

# For a task that may take long, such as a migration.
TASK = {"application_name": "tinkwell"}
# For requests. A session that stops between its statements would hold its locks, and so delay the delivery of events.
POOL = {
    **_BY_KEY,
    "application_name": "tinkwell",
    "idle_in_transaction_session_timeout": "10s",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
}
READER = {**_LEFT_ALONE, **_BY_KEY, "application_name": "tinkwell reader"}
REPLAY = {**_LEFT_ALONE, "application_name": "tinkwell replay"}
LISTENER = {**_LEFT_ALONE, "application_name": "tinkwell listener"}
# Three times the longest sleep, so that a frozen process releases the bell.
BELL = {**_LEFT_ALONE, "application_name": "tinkwell bell", "idle_in_transaction_session_timeout": "15s"}
RETENTION = {
    **_LEFT_ALONE,
    "application_name": "tinkwell retention",
    "idle_in_transaction_session_timeout": "10s",
    "lock_timeout": "5s",
    # A revision that is recorded as deleted stays so after a crash.
    "synchronous_commit": "on",
}
# A transaction that locks a table cannot detach partitions. So another session holds the lock, and is idle during a
# whole run. A server that is frozen loses it in the end.
RETENTION_TURN = {
    **RETENTION,
    "application_name": "tinkwell retention turn",
    "idle_in_transaction_session_timeout": "1h",
}
# A relay that is silent for a while must stand for election again.
RELAY = {**_LEFT_ALONE, "application_name": "tinkwell relay", "idle_in_transaction_session_timeout": "15s"}


async def connect(
    database_url: str,
    settings: Mapping[str, str],
    *,
    connect_seconds: float = CONNECT_SECONDS,
    command_seconds: float | None = None,
    kind: type[asyncpg.Connection] = asyncpg.Connection,
) -> asyncpg.Connection:
    """Begin a session with these settings and the common ones. Raises the driver's errors.

    A statement may take `command_seconds` unless it sets another limit. Raises `database_url.InvalidUrl`.
    """
    arguments = _arguments(database_url, settings, connect_seconds)
    return await _open(**arguments, command_timeout=command_seconds, connection_class=kind)


def create_pool(
    database_url: str, settings: Mapping[str, str], *, command_seconds: float, max_size: int
) -> asyncpg.pool.Pool:
    """Make a pool of such sessions, to be awaited. Raises `database_url.InvalidUrl`."""
    return asyncpg.create_pool(
        **_arguments(database_url, settings, CONNECT_SECONDS),
        min_size=0,
        max_size=max_size,
        command_timeout=command_seconds,
        connect=_open,
        # Nothing changes a session, so it need not be reset, which would cost a statement each time.
        reset=_leave,
    )


def create_engine(
    database_url: str, settings: Mapping[str, str], *, command_seconds: float | None = None, **options: Any
) -> AsyncEngine:
    """Make SQLAlchemy's engine of such sessions, with further options of its own. Raises `database_url.InvalidUrl`."""
    arguments = _arguments(database_url, settings, CONNECT_SECONDS)
    # The driver gets the place directly, because SQLAlchemy would read the URL by other rules.
    creator = functools.partial(_open, **arguments, command_timeout=command_seconds)
    return create_async_engine("postgresql+asyncpg://", async_creator=creator, **options)


async def _open(*dsn: None, **arguments: Any) -> asyncpg.Connection:
    """Connect to the primary, and settle the session. A pool of asyncpg passes a DSN that is None."""
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
    """Set what only some releases of PostgreSQL know, what only some roles may set, and what depends on other settings.

    As a parameter of the connection, each of the former two would make PostgreSQL refuse the session.
    """
    statements = [_SYNCHRONOUS_COMMIT]
    if connection.get_server_version().major >= 17:
        statements.insert(0, "SET transaction_timeout = 0")
    # No other role may change it.
    if getattr(connection.get_settings(), "is_superuser", "off") == "on":
        statements.append("SET session_replication_role = origin")
    await connection.execute(";".join(statements), timeout=CONNECT_SECONDS)


async def _leave(_: asyncpg.Connection) -> None:
    """Leave a session unchanged."""
