"""Connections to PostgreSQL: the pool that requests share, and single ones for tasks."""

import functools
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from sqlalchemy import event, exc
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_dbapi
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, PoolProxiedConnection

from tinkwell.server import database_url as urls
from tinkwell.server.database import dial
from tinkwell.server.database import session as sessions

# The errors that asyncpg raises when a connection is lost or cannot be made. It reports some losses as internal errors.
CONNECTION_ERRORS = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)

# The errors after which another try would end in the same way.
_REFUSALS = (
    asyncpg.ClientConfigurationError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    ssl.SSLCertVerificationError,
)
_REFUSES_TLS = "rejected SSL upgrade"

# A connection that was used within this time is alive, unless its socket says otherwise.
_FRESH_SECONDS = 5.0
_RESTS_SINCE = "tinkwell rests since"
# PostgreSQL plans a statement when a session first runs it, for the tables as they are then, and keeps the plan until
# the tables are analyzed, minutes later. The tables of a new site grow from nothing to thousands of rows in the
# meantime, and such plans read them from end to end. So sessions discard their plans: often while they are young, and
# later once a minute.
_PLANS_SINCE, _PLANS_UNTIL = "tinkwell plans since", "tinkwell plans until"
_FIRST_PLANS_SECONDS = 1.0
_PLANS_SECONDS = 60.0
_PING_SECONDS = 5
_COMMAND_SECONDS = 35


def create(database_url: str, *, pool_size: int, fresh_seconds: float = _FRESH_SECONDS) -> AsyncEngine:
    """Make the pool that requests share. If all connections are in use, a request waits for at most ten seconds.

    A connection that was idle for `fresh_seconds` is tried before it is used.
    """
    pool = sessions.create_engine(
        database_url,
        sessions.POOL,
        command_seconds=_COMMAND_SECONDS,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=10,
        # Under little load, few sessions do all the work, and have their plans ready.
        pool_use_lifo=True,
    )
    event.listen(pool.sync_engine, "checkin", _lay_aside)
    event.listen(pool.sync_engine, "checkout", functools.partial(_take_up, fresh_seconds))
    event.listen(pool.sync_engine, "checkout", _plan_anew)
    return pool


async def session(pool: AsyncEngine) -> PoolProxiedConnection:
    """Take a session of the pool, to use the driver directly. Raises the driver's errors.

    The pool itself raises the driver's errors wrapped in others, which only `connect` unwraps.
    """
    try:
        return await pool.raw_connection()
    except AsyncAdapt_asyncpg_dbapi.Error as error:
        raise error.__cause__ or error from None


@asynccontextmanager
async def connect(database_url: str) -> AsyncIterator[AsyncConnection]:
    """Open one connection for a task that may take long, such as a migration."""
    engine = sessions.create_engine(database_url, sessions.TASK, poolclass=NullPool)
    try:
        async with engine.connect() as connection:
            yield connection
    finally:
        await engine.dispose()


def _lay_aside(_: object, entry: ConnectionPoolEntry) -> None:
    entry.info[_RESTS_SINCE] = time.monotonic()


def _take_up(fresh_seconds: float, connection: Any, entry: ConnectionPoolEntry, _: PoolProxiedConnection) -> None:
    """Replace a connection that is lost. The pool does that after a `DisconnectionError`.

    The pool's own check costs three statements each time. A server that ends, or ends a session, closes the socket, so
    only a connection that was idle for long may be lost without a sign.
    """
    if connection.driver_connection.is_closed():
        raise exc.DisconnectionError("it was closed while it rested")
    if time.monotonic() - entry.info.get(_RESTS_SINCE, time.monotonic()) < fresh_seconds:
        return
    try:
        connection.run_async(lambda driver: driver.fetchrow(";", timeout=_PING_SECONDS))
    except (connection.dbapi.Error, *CONNECTION_ERRORS) as error:
        raise exc.DisconnectionError("it does not answer") from error


def _plan_anew(connection: Any, entry: ConnectionPoolEntry, _: PoolProxiedConnection) -> None:
    """Make a session discard its plans when they are as old as it was when it made them, or a minute old."""
    now = time.monotonic()
    since = entry.info.setdefault(_PLANS_SINCE, now)
    if now < entry.info.setdefault(_PLANS_UNTIL, now + _FIRST_PLANS_SECONDS):
        return
    entry.info[_PLANS_UNTIL] = now + min(now - since, _PLANS_SECONDS)
    try:
        connection.run_async(lambda driver: driver.execute("DISCARD PLANS"))
    except (connection.dbapi.Error, *CONNECTION_ERRORS) as error:
        raise exc.DisconnectionError("it does not answer") from error


def place(database_url: str) -> str:
    """Return the URL without its secrets, for messages."""
    return urls.parse(database_url).place


def reason(error: BaseException) -> str:
    """Return the driver's message on one line, without SQLAlchemy's additions."""
    cause = _cause(error)
    said = str(cause).split("\n", 1)[0] or type(cause).__name__
    if _REFUSES_TLS in said:
        return f"{said}: it does not do TLS, so sslmode can only be disable, allow or prefer"
    return said


def is_refusal(error: BaseException) -> bool:
    """Whether another try is useless, for example after a wrong password, for a missing database, or without TLS."""
    cause = _cause(error)
    if isinstance(cause, dial.CannotConnect):
        return all(map(is_refusal, cause.causes))
    driver_error = cause.__cause__ if isinstance(error, exc.DBAPIError) else cause
    return isinstance(driver_error, _REFUSALS) or _REFUSES_TLS in str(cause)


def is_about_connecting(error: BaseException) -> bool:
    """Whether an error is about making a connection, so that the URL may be wrong."""
    cause = _cause(error)
    driver_error = cause.__cause__ if isinstance(error, exc.DBAPIError) else cause
    return isinstance(driver_error, (dial.CannotConnect, asyncpg.TooManyConnectionsError, *_REFUSALS))


def _cause(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, exc.DBAPIError) and error.orig else error
