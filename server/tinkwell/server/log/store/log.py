"""The event log in PostgreSQL: implements `tinkwell.server.log.source` over connections of its own.

The reader's statements run one by one outside transaction blocks, so each has a snapshot of its own. The rule in
`tinkwell.server.log.read.order` depends on this.
"""

import asyncio
import contextlib
import logging
import operator
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import asyncpg

from tinkwell.core import errors
from tinkwell.core.event.holder import Holder
from tinkwell.core.event.page import History, Incomplete, Page, Replay, SourceLost
from tinkwell.core.event.selection import Selection
from tinkwell.server.database import guard, reach, session
from tinkwell.server.log.store import evidence, row, statement, who
from tinkwell.server.log.store.doorbell import TIMEOUT_SECONDS, Listener, PostgresBell

logger = logging.getLogger(__name__)

T = TypeVar("T")

_PAGE_EVENTS = 1_000
_PAGE_BYTES = 8 << 20
# How many revisions above the tail a poll looks through first. They lie in one or two partitions.
_NEAR = 1_000_000
_HIGHEST = 2**63 - 1
# How many revisions one replay looks through. So a replay ends soon even if few events match: the watcher gets a
# bookmark, and other watchers can read.
_MAX_SPAN = 50_000
_NEXT = "SELECT revision FROM events WHERE revision BETWEEN $1 AND $2 ORDER BY revision LIMIT 1"
_IN_FORCE = "SELECT history_id::text, oldest_revision FROM event_history WHERE identity = log_identity()"
_FIRST_SINCE = "SELECT first_revision_since(clock_timestamp() - make_interval(secs => $1))"
_CONNECT_SECONDS = 10
_COMMAND_SECONDS = 10
_REPLAY_SECONDS = 60
# `verify` checks the whole schema once in this many calls, and only the sequence otherwise.
_SCHEMA_EVERY = 10
# The last column of a row: how many bytes of data it has.
_size = operator.itemgetter(-1)


class PostgresLog:
    """The log of one process. While `open` lasts, it has a pool of connections for watchers that are behind."""

    def __init__(
        self,
        database_url: str,
        *,
        table_readers: int,
        bell_timeout_seconds: float = TIMEOUT_SECONDS,
        max_span: int = _MAX_SPAN,
    ) -> None:
        self._database_url = database_url
        self._bell_timeout_seconds = bell_timeout_seconds
        self._max_span = max_span
        self._table_readers = table_readers
        self._pool: asyncpg.Pool | None = None
        # The number of rings that this process has received.
        self.notifications = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator["PostgresLog"]:
        """Keep the pool of connections for `replay` and the questions about positions."""
        pool = await session.create_pool(
            self._database_url, session.REPLAY, command_seconds=_REPLAY_SECONDS, max_size=self._table_readers
        )
        self._pool = pool
        try:
            yield self
        finally:
            self._pool = None
            pool.terminate()

    @asynccontextmanager
    async def session(self) -> AsyncIterator["PostgresSession"]:
        """Open the three connections of a reader: for reading, for listening, and for holding the bell."""
        async with contextlib.AsyncExitStack() as stack:
            with reach.lost():
                reader = await self._connect(stack, session.READER)
                listener = await self._connect(stack, session.LISTENER, Listener)
                holder = await self._connect(stack, session.BELL)
                if await reader.fetchval("SELECT pg_is_in_recovery()"):
                    raise SourceLost("this PostgreSQL server is a standby; the log must be read on the primary")
                await _refuse_several(reader, listener, holder)
                if await reader.fetchval("SELECT mend_bell()"):
                    logger.warning("the bell could not be read, as after a fail-over, and was created again")
                await _plan(reader)
                bell = PostgresBell(
                    listener,
                    holder,
                    heard=self._count_notification,
                    timeout_seconds=self._bell_timeout_seconds,
                )
                await bell.start()
            try:
                yield PostgresSession(reader, bell)
            finally:
                await bell.close()

    async def replay(
        self, *, history_id: str, first: int, last: int, selection: Selection, max_count: int, max_bytes: int
    ) -> Replay:
        """See `Source.replay`."""
        with reach.lost():
            async with self._acquire() as connection:
                until = min(last, first + self._max_span - 1)
                rows = await _look_through(connection, first, until, selection, max_count, max_bytes)
                if not rows:
                    # Millions of revisions may be dead: go on at the next event, whether it matches or not.
                    begin = await connection.fetchval(_NEXT, first, last)
                    checked, until = until, last if begin is None else min(last, begin + self._max_span - 1)
                    if until > checked:
                        rows = await _look_through(connection, checked + 1, until, selection, max_count, max_bytes)
                # Read after the events: some of them may have been forgotten before they were read.
                history = await _history_in_force(connection)
        if history.history_id != history_id:
            raise errors.OtherHistory("the database is another one than before", history_id=history.history_id)
        if first < history.oldest_revision:
            raise errors.Compacted(first, history.oldest_revision)
        is_cut = _is_cut(rows, max_count=max_count, max_bytes=max_bytes)
        return Replay(rows, rows[-1][0] if is_cut else until)

    async def first_revision_since(self, seconds: float) -> int:
        """See `Source.first_revision_since`."""
        with reach.lost():
            async with self._acquire() as connection:
                first: int | None = await connection.fetchval(_FIRST_SINCE, seconds)
        return _known(first)

    async def last_drawn(self) -> int:
        """See `Source.last_drawn`."""
        with reach.lost():
            async with self._acquire() as connection:
                return await _last_drawn(connection)

    async def history(self) -> History:
        """See `Source.history`."""
        with reach.lost():
            async with self._acquire() as connection:
                return await _history(connection)

    @asynccontextmanager
    async def _acquire(self) -> AsyncIterator["asyncpg.pool.PoolConnectionProxy"]:
        pool = self._pool
        if pool is None:
            raise errors.Unavailable("the server is stopping; try again")
        # The pool's own timeout would run `acquire` in a task, which takes several rounds of the event loop even if a
        # connection is free.
        async with asyncio.timeout(_CONNECT_SECONDS):
            connection = await pool.acquire()
        try:
            yield connection
        finally:
            await pool.release(connection)

    def _count_notification(self) -> None:
        self.notifications += 1

    async def _connect(
        self,
        stack: contextlib.AsyncExitStack,
        settings: Mapping[str, str],
        kind: type[asyncpg.Connection] = asyncpg.Connection,
    ) -> asyncpg.Connection:
        connection = await session.connect(self._database_url, settings, command_seconds=_COMMAND_SECONDS, kind=kind)
        stack.callback(connection.terminate)
        return connection


class PostgresSession:
    """Implements `tinkwell.server.log.source.Session`."""

    def __init__(self, connection: asyncpg.Connection, bell: PostgresBell) -> None:
        self._connection = connection
        self._bell = bell
        # The number of calls of `verify`.
        self._verified = 0

    @property
    def bell(self) -> PostgresBell:
        return self._bell

    async def history(self, *, seen: int, known: str) -> History:
        with reach.lost():
            return await _history(self._connection, seen=seen, known=known)

    async def verify(
        self, *, known: str, delivered: Sequence[tuple[int, str]], dead: Sequence[tuple[int, int]]
    ) -> bool:
        with reach.lost():
            # Checking the whole schema takes some milliseconds, and it changes seldom.
            look = guard.faults_of_sequence if self._verified % _SCHEMA_EVERY else guard.faults_of_schema
            self._verified += 1
            _require(await look(self._connection.fetch))
            if await evidence.holds(self._connection, delivered=delivered, dead=dead):
                return True
            await evidence.renounce(self._connection, known)
        return False

    async def last_revision(self) -> int:
        with reach.lost():
            return int(await self._connection.fetchval("SELECT coalesce(max(revision), 0) FROM events"))

    async def last_drawn(self) -> int:
        with reach.lost():
            return await _last_drawn(self._connection)

    async def oldest_revision(self) -> int:
        with reach.lost():
            oldest: int | None = await self._connection.fetchval("SELECT oldest_revision FROM event_history")
        return _known(oldest)

    async def waiting(self) -> int:
        with reach.lost():
            return int(await self._connection.fetchval(statement.WAITING))

    async def page(self, *, gaps: Sequence[tuple[int, int]], tail: int | None) -> Page:
        with reach.lost():
            if not gaps and tail is not None:
                rows = await self._tail(tail, through=tail + _NEAR)
                # More revisions than were looked through may be dead. The highest drawn one costs little to read.
                if not rows and await _last_drawn(self._connection) > tail + _NEAR:
                    rows = await self._tail(tail, through=_HIGHEST)
            else:
                firsts, lasts = [first for first, _ in gaps], [last for _, last in gaps]
                rows = await self._connection.fetch(statement.PAGE, firsts, lasts, tail, _PAGE_EVENTS, _PAGE_BYTES)
        return _page(rows, max_count=_PAGE_EVENTS, max_bytes=_PAGE_BYTES)

    async def _tail(self, tail: int, *, through: int) -> list[asyncpg.Record]:
        rows: list[asyncpg.Record] = await self._connection.fetch(
            statement.TAIL, tail, _PAGE_EVENTS, _PAGE_BYTES, through
        )
        return rows

    async def holders(self) -> frozenset[str]:
        with reach.lost():
            # The sequence must not cache: a session could use cached numbers later, without the lock when it drew them.
            _require(await guard.faults_of_sequence(self._connection.fetch))
            return frozenset(await self._connection.fetchval(statement.HOLDERS) or ())

    async def who(self, transactions: frozenset[str]) -> list[Holder]:
        with reach.lost():
            return await who.holders(self._connection, transactions=transactions)


def _require(faults: list[str]) -> None:
    if faults:
        raise SourceLost("; ".join(faults))


async def _refuse_several(*connections: asyncpg.Connection) -> None:
    """Raise `SourceLost` if the connections lead to different servers, which a URL with several hosts makes
    possible."""
    started = {await connection.fetchval("SELECT pg_postmaster_start_time()") for connection in connections}
    if len(started) > 1:
        raise SourceLost("the database's URL leads to more than one server")


async def _plan(reader: asyncpg.Connection) -> None:
    """Run each seldom used statement once, since planning it over all partitions takes long."""
    await reader.fetch(statement.PAGE, [], [], _HIGHEST, 1, 1)
    await reader.fetch(statement.TAIL, _HIGHEST, 1, 1, _HIGHEST)
    for query in (statement.HOLDERS, statement.WAITING):
        await reader.fetch(query)


async def _look_through(
    connection: asyncpg.Connection, first: int, last: int, selection: Selection, max_count: int, max_bytes: int
) -> list[asyncpg.Record]:
    """Return selected rows of a range of revisions, up to the limits."""
    rows: list[asyncpg.Record] = await connection.fetch(
        statement.REPLAY,
        first,
        last,
        list(selection.event_types),
        list(selection.resource_types),
        list(selection.names),
        selection.resource_id or None,
        max_count,
        max_bytes,
    )
    return rows


def _known(value: T | None) -> T:
    """Return the value, which was read from the one row of `event_history`. Raises `Incomplete` if that is missing."""
    if value is None:
        raise Incomplete("event_history is empty")
    return value


async def _history(connection: asyncpg.Connection, *, seen: int = 0, known: str = "") -> History:
    row = await connection.fetchrow(
        "SELECT history_id::text, oldest_revision FROM current_history($1, $2)", seen, known or None
    )
    return History(*_known(row))


async def _history_in_force(connection: asyncpg.Connection) -> History:
    """Return the same as `_history`, which takes longer, because this is quick while the history has not changed."""
    try:
        row = await connection.fetchrow(_IN_FORCE)
    except asyncpg.InsufficientPrivilegeError:  # a site may deny roles the function that reads the cluster's identity
        row = None
    return History(row[0], row[1]) if row is not None else await _history(connection)


async def _last_drawn(connection: asyncpg.Connection) -> int:
    return int(await connection.fetchval("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM events_revision"))


def _page(rows: Sequence[asyncpg.Record], *, max_count: int, max_bytes: int) -> Page:
    try:
        events = list(map(row.event, rows))
    except row.UnknownKind as error:
        # A later release may add kinds while servers of this release run. Skipping the event would lose it for
        # watchers.
        raise SourceLost(f"this server does not know events of the kind {error}; upgrade this server") from error
    return Page(events, _is_cut(rows, max_count=max_count, max_bytes=max_bytes))


def _is_cut(rows: Sequence[asyncpg.Record], *, max_count: int, max_bytes: int) -> bool:
    return len(rows) >= max_count or sum(map(_size, rows)) >= max_bytes
