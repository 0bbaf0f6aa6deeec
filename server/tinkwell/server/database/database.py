"""Runs transactions, retries them when PostgreSQL asks for it, and returns the revision of their change.

A retry runs the whole piece of work again, so the work must change nothing but the database.
"""

import asyncio
import dataclasses
import functools
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, TypeVar

import asyncpg
import sqlalchemy
from sqlalchemy import event, exc
from sqlalchemy.engine import ExceptionContext, Row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from tinkwell.core import errors
from tinkwell.server.database import constraint, engine, reach

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Fetch(Protocol):
    """Runs one statement in the driver's syntax (`$1` …) and returns its rows."""

    async def __call__(self, query: str, *values: object) -> Sequence[asyncpg.Record]:
        """Raises the errors that its context makes of the driver's errors."""


_TRIES = 8
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.5
# Serialization failure and deadlock: the transaction changed nothing and may be run again.
_RETRIED = ("40001", "40P01")
# Constraints without a domain error.
_REFUSED = "23"
# Connection failures, a server that starts or stops, too many connections, a cancelled or timed-out statement.
_UNAVAILABLE = ("08", "57", "53", "55P03", "25P03")
# The errors that are raised when the database cannot be reached at all.
_LOST = (exc.TimeoutError, *engine.CONNECTION_ERRORS)
_LONG_READ_WAIT_SECONDS = 10


@dataclasses.dataclass(slots=True)
class Transaction:
    """The argument of a piece of work: a connection inside a transaction.

    Work that changed nothing sets `changed` to False.
    """

    connection: AsyncConnection
    changed: bool = True

    async def fetch(self, query: str, *values: object) -> Sequence[asyncpg.Record]:
        """Run one statement in the driver's syntax; see `Database.fetch`."""
        return await _fetch(await self.connection.get_raw_connection(), query, *values)

    async def execute_each(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Run one statement in the driver's syntax for each of some rows of values, without waiting in between."""
        raw = await self.connection.get_raw_connection()
        await _guarded(raw, lambda driver: driver.executemany(query, rows))

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Undo only the block if it raises. Errors of the database are raised as domain errors."""
        try:
            async with self.connection.begin_nested():
                yield
        except (exc.DBAPIError, asyncpg.PostgresError) as error:
            if (translated := constraint.translate(_original(error))) is not None:
                raise translated from error
            if _sqlstate(error).startswith(_REFUSED):
                raise errors.TinkwellError("the database does not accept it") from error
            raise


@dataclasses.dataclass(frozen=True, slots=True)
class Written(Generic[T]):
    """The result of a piece of work, and the revision of its last event, 0 if it changed nothing."""

    value: T
    revision: int


class Database:
    """The pool that requests share. It raises only domain errors."""

    def __init__(self, pool: AsyncEngine, *, long_read_wait_seconds: float = _LONG_READ_WAIT_SECONDS) -> None:
        self._engine = pool
        self._long_read_wait_seconds = long_read_wait_seconds
        self._long_reads = asyncio.Semaphore(max(1, self.connections // 2))
        event.listen(pool.sync_engine, "handle_error", _leave_spent_session)

    @property
    def connections(self) -> int:
        """The largest number of connections."""
        return self._engine.pool.size() if isinstance(self._engine.pool, QueuePool) else 2

    @property
    def connections_in_use(self) -> int:
        """The number of connections in use."""
        return self._engine.pool.checkedout() if isinstance(self._engine.pool, QueuePool) else 0

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Run reading work in one transaction, with one snapshot for all of its statements."""

        async def once() -> T:
            async with self._engine.connect() as connection:
                snapshot = await connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
                async with snapshot.begin():
                    return await work(snapshot)

        return await _run(once)

    async def change(self, work: Callable[[Fetch], Awaitable[tuple[T, bool]]]) -> Written[T]:
        """Run changing work that consists of one statement, which is a transaction of its own.

        The work returns its value, and whether anything was changed. The statement must name the actor in its events.
        """

        async def once(fetch: Fetch) -> Written[T]:
            value, is_changed = await work(fetch)
            return Written(value, await _revision(fetch) if is_changed else 0)

        return await self.use(once)

    async def write(self, work: Callable[[Transaction], Awaitable[T]], *, actor: str) -> Written[T]:
        """Run changing work in one transaction. Its events name the actor."""

        async def once() -> Written[T]:
            async with self._engine.connect() as connection:
                async with connection.begin():
                    await connection.execute(_SET_ACTOR, {"actor": actor})
                    transaction = Transaction(connection)
                    value = await work(transaction)
                return Written(value, await _own_revision(connection) if transaction.changed else 0)

        return await _run(once)

    async def execute(self, query: sqlalchemy.TextClause, values: Mapping[str, object]) -> Sequence[Row[Any]]:
        """Run one statement as a transaction of its own, and return its rows."""

        async def once() -> Sequence[Row[Any]]:
            async with self._engine.connect() as connection:
                alone = await connection.execution_options(isolation_level="AUTOCOMMIT")
                return (await alone.execute(query, dict(values))).all()

        return await _run(once)

    async def fetch(self, query: str, *values: object) -> Sequence[asyncpg.Record]:
        """Run one statement in the driver's syntax (`$1` …) as a transaction of its own, and return its rows.

        This is much cheaper than `execute`, so it is for frequent statements. It raises the same errors.
        """

        return await self.use(lambda fetch: fetch(query, *values))

    async def use(self, work: Callable[[Fetch], Awaitable[T]]) -> T:
        """Run statements as `fetch` does, each a transaction of its own, over one session.

        A retry runs all of them again. The work must not wait for anything else, because it keeps the session from
        others.
        """

        async def once() -> T:
            raw = await engine.session(self._engine)
            try:
                return await work(functools.partial(_fetch, raw))
            finally:
                raw.close()

        return await _run(once)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """Open one snapshot for a long answer that is read piece by piece.

        It holds a connection of the pool, so only half of them may be used like this, and PostgreSQL ends it when its
        reader pauses for ten seconds. Raises `errors.LimitReached`, `errors.Unavailable`.
        """
        async with self._long_read():
            try:
                async with self._engine.connect() as connection:
                    snapshot = await connection.execution_options(
                        isolation_level="REPEATABLE READ", postgresql_readonly=True
                    )
                    async with snapshot.begin():
                        yield snapshot
            except exc.DBAPIError as error:
                raise _translate(error, _sqlstate(error)) from error
            except _LOST as error:
                raise errors.Unavailable("the database does not answer; try again") from error

    @asynccontextmanager
    async def _long_read(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._long_read_wait_seconds):
                await self._long_reads.acquire()
        except TimeoutError as error:
            raise errors.LimitReached("too many lists are being read; try again") from error
        try:
            yield
        finally:
            self._long_reads.release()

    async def answers(self) -> bool:
        """Return whether the database answers now."""
        try:
            async with asyncio.timeout(_PING_SECONDS):
                await self.execute(_PING, {})
        except (errors.Unavailable, TimeoutError):
            return False
        return True


_PING = sqlalchemy.text("SELECT 1")
_PING_SECONDS = 2
_SET_ACTOR = sqlalchemy.text("SELECT set_config('tinkwell.actor', :actor, true)")


async def _own_revision(connection: AsyncConnection) -> int:
    return await _revision(functools.partial(_fetch, await connection.get_raw_connection()))


async def _revision(fetch: Fetch) -> int:
    # Revisions are drawn while the transaction commits, so they are known only afterwards, and only in this session.
    return int((await fetch("SELECT currval('events_revision')"))[0][0])


async def _fetch(raw: PoolProxiedConnection, query: str, *values: object) -> Sequence[asyncpg.Record]:
    """Run one statement, and return its rows."""
    return list(await _guarded(raw, lambda driver: driver.fetch(query, *values)))


async def _guarded(raw: PoolProxiedConnection, call: Callable[[Any], Awaitable[T]]) -> T:
    """Call the driver directly, past SQLAlchemy, which therefore does not notice a lost session."""
    assert raw.driver_connection is not None
    try:
        return await call(raw.driver_connection)
    except asyncpg.PostgresError as error:
        # The session has answered. If it was lost since, its next user will notice.
        if reach.is_spent(error):
            raw.invalidate()
        raise
    except BaseException:
        # Half of a query may have been sent, so the session cannot be used again.
        raw.invalidate()
        raise


def _leave_spent_session(context: ExceptionContext) -> None:
    """Replace a session whose next writer would fail as this one did."""
    if reach.is_spent(context.original_exception):
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = False


async def _run(once: Callable[[], Awaitable[T]]) -> T:
    for attempt in range(1, _TRIES + 1):
        try:
            return await once()
        except _LOST as error:
            raise errors.Unavailable("the database does not answer; try again") from error
        except (exc.DBAPIError, asyncpg.PostgresError) as error:
            sqlstate = _sqlstate(error)
            if not (sqlstate in _RETRIED or _is_outdated(error)) or attempt == _TRIES:
                raise _translate(error, sqlstate) from error
            longest = min(_FIRST_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS)
            logger.debug("transaction is run again", extra={"sqlstate": sqlstate, "attempt": attempt})
            await asyncio.sleep(random.uniform(0, longest))  # noqa: S311
    raise AssertionError("the loop above returns or raises")


def _sqlstate(error: exc.DBAPIError | asyncpg.PostgresError) -> str:
    return str(getattr(_original(error), "sqlstate", None) or "")


def _is_outdated(error: exc.DBAPIError | asyncpg.PostgresError) -> bool:
    """Whether an upgrade of the schema has changed the result of a statement. The driver then prepares it again."""
    cause = getattr(_original(error), "__cause__", None) or error
    return isinstance(cause, asyncpg.InvalidCachedStatementError)


def _original(error: exc.DBAPIError | asyncpg.PostgresError) -> object:
    return error.orig if isinstance(error, exc.DBAPIError) else error


def _translate(error: exc.DBAPIError | asyncpg.PostgresError, sqlstate: str) -> Exception:
    if sqlstate in _RETRIED:
        return errors.LostRace("too many writers changed the same resources at once; try again")
    original = _original(error)
    if reach.is_incomplete(original):
        logger.warning("the database is not usable yet, as in the middle of a restore", extra={"cause": str(original)})
        return errors.Unavailable("the database is not usable yet; try again")
    if _is_outdated(error):
        return errors.Unavailable("the schema has just been upgraded; try again")
    if reach.is_read_only(original):
        logger.warning("the database takes no writes, as a standby does", extra={"cause": str(original)})
        return errors.Unavailable("the database takes no writes at this moment; try again")
    is_lost = isinstance(error, exc.DBAPIError) and error.connection_invalidated
    if is_lost or sqlstate.startswith(_UNAVAILABLE):
        return errors.Unavailable("the database does not answer; try again")
    return constraint.translate(original) or error
