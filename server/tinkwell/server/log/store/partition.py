"""The partitions of the event log: reads, adds, closes and discards them.

If a step is interrupted, the next session finds what it left behind. No step waits for a lock in a way that makes other
sessions wait behind it. Besides tables that no other session sees, the steps lock:

    add       `events`, SHARE UPDATE EXCLUSIVE, which does not conflict with reading and writing
    close     only the sequence's page, for one number at a time
    forget    the one row of `event_history`
    discard   as `add`; DETACH CONCURRENTLY waits for all transactions that have used `events`, without a lock

The session is never idle in a transaction: a step of several statements sends them together. A second session does
nothing but hold the lock that decides which server changes the partitions.
"""

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

import asyncpg

from tinkwell.core.event import holder
from tinkwell.core.event.page import Incomplete
from tinkwell.core.event.retention import Partition, Policy, Shelf, StepFailed, StillUsed
from tinkwell.server.database import engine, reach
from tinkwell.server.database import session as sessions
from tinkwell.server.log.store import statement, who

# Only the owner of the log may take this lock, while any role may take an advisory lock. It conflicts with itself, but
# not with reading and writing.
LOCK = "LOCK TABLE ONLY event_discard IN SHARE UPDATE EXCLUSIVE MODE NOWAIT"
# Longer than PostgreSQL's own limit for a wait for a lock, so that that comes first.
_COMMAND_SECONDS = 120
# Drawing this many numbers takes about 10 ms. A pause of the same length follows, in which writers can draw.
_DRAWN_AT_ONCE = 50_000
_PATIENCE_SECONDS = 60
_POLL_SECONDS = 0.02

_LAST_DRAWN = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM events_revision"
_OWNS = "SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class WHERE oid = 'events'::regclass"
_NTH_NEWEST = "SELECT coalesce((SELECT revision FROM events ORDER BY revision DESC OFFSET $1 - 1 LIMIT 1), 0)"
_PARTITIONS = r"""
    SELECT c.relname, bound.first, bound.end, oldest.created_at, newest.created_at
      FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
     CROSS JOIN regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(\d+)''\) TO \(''(\d+)''\)') AS found (text)
     CROSS JOIN LATERAL (SELECT found.text[1]::bigint, found.text[2]::bigint) AS bound ("first", "end")
      LEFT JOIN LATERAL (SELECT created_at FROM events WHERE revision >= bound.first AND revision < bound.end
                          ORDER BY revision LIMIT 1) AS oldest ON true
      LEFT JOIN LATERAL (SELECT created_at FROM events WHERE revision >= bound.first AND revision < bound.end
                          ORDER BY revision DESC LIMIT 1) AS newest ON true
     WHERE i.inhparent = 'events'::regclass
       AND NOT EXISTS (SELECT FROM event_discard d WHERE d.partition_name = c.relname)
     ORDER BY bound.first
"""
# A single statement, so that no partition is discarded before its revisions are recorded as forgotten. Revisions above
# the partition's last event are dead, so a watcher that has everything up to that event has missed nothing.
_FORGET = """
    WITH forgotten AS (
        UPDATE event_history
           SET oldest_revision = greatest(oldest_revision,
                   coalesce((SELECT max(revision) + 1 FROM events WHERE revision >= $2 AND revision < $3), 0))
        RETURNING true
    )
    INSERT INTO event_discard (partition_name) SELECT $1 FROM forgotten RETURNING true
"""
_DISCARDED = "SELECT partition_name FROM event_discard ORDER BY discarded_at, partition_name"
_QUALIFIED = """
    SELECT format('%I.%I', n.nspname, $1::text)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = 'events'::regclass
"""
_IS_PENDING = """
    SELECT inhdetachpending FROM pg_inherits WHERE inhparent = 'events'::regclass AND inhrelid = to_regclass($1)
"""
# The sessions that have used a partition that is being detached, or have a snapshot in which it is still attached.
_USERS = """
    SELECT array_agg(pid)
      FROM (SELECT pid FROM pg_locks
             WHERE locktype = 'relation' AND relation = to_regclass($1) AND pid <> pg_backend_pid()
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
             UNION
            SELECT a.pid FROM pg_inherits i JOIN pg_stat_activity a ON age(a.backend_xmin) >= age(i.xmin)
             WHERE i.inhrelid = to_regclass($1) AND a.datname = current_database() AND a.pid <> pg_backend_pid()) users
"""
# The table and its name in event_discard go together. Otherwise the next session could not tell whose the table is.
_DROP = (
    "SELECT format('DROP TABLE IF EXISTS %s; DELETE FROM event_discard WHERE partition_name = %L', $1::text, $2::text)"
)
_LIMIT = "SELECT set_config('lock_timeout', $1, false)"
_OWNER = "SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = 'events'::regclass"


@asynccontextmanager
async def session(
    database_url: str, *, patience_seconds: float = _PATIENCE_SECONDS
) -> AsyncIterator["PartitionSession"]:
    """Connect. `patience_seconds` bounds each wait for other transactions. Raises `StepFailed`."""
    async with contextlib.AsyncExitStack() as stack:
        connection = await _connect(stack, database_url, sessions.RETENTION)
        turn = await _connect(stack, database_url, sessions.RETENTION_TURN)
        yield PartitionSession(connection, turn, patience_seconds)


async def _connect(
    stack: contextlib.AsyncExitStack, database_url: str, settings: Mapping[str, str]
) -> asyncpg.Connection:
    with _failures():
        connection = await sessions.connect(database_url, settings, command_seconds=_COMMAND_SECONDS)
    # Ends the statement that PostgreSQL may still be running, and releases the lock.
    stack.callback(connection.terminate)
    return connection


class PartitionSession:
    """Reads and changes partitions. Each method raises `StepFailed` if the database refuses or is out of reach."""

    def __init__(self, connection: asyncpg.Connection, turn: asyncpg.Connection, patience_seconds: float) -> None:
        self._connection = connection
        self._turn = turn
        self._patience_seconds = patience_seconds

    async def may_change(self) -> bool:
        """Return whether this role owns the log."""
        with _failures():
            return bool(await self._connection.fetchval(_OWNS))

    async def lock(self) -> bool:
        """Ask for the lock that allows to change partitions, until the session ends; return whether it was granted."""
        with _failures():
            try:
                await self._turn.execute(f"BEGIN; {LOCK}")
            except asyncpg.LockNotAvailableError:
                return False
            return True

    async def look(self, policy: Policy) -> Shelf:
        """Read what `retention.decide` needs. This takes time in proportion to the number of events that is kept."""
        with _failures():
            last_drawn = int(await self._connection.fetchval(_LAST_DRAWN))
            rows = await self._connection.fetch(_PARTITIONS)
            oldest = await self._connection.fetchval("SELECT oldest_revision FROM event_history")
            if oldest is None:
                raise Incomplete("event_history is empty")
            return Shelf(
                partitions=[Partition(*row) for row in rows],
                last_drawn=last_drawn,
                oldest_revision=oldest,
                kept_from=await self._nth_newest(policy.count),
                closing_from=await self._nth_newest(policy.closing_count),
                now=await self._now(),
            )

    async def add(self, partition: Partition) -> None:
        """Create a table and attach it as a partition, in one transaction."""
        with _failures():
            table = await self._qualified(partition.name)
            owner = await self._connection.fetchval(_OWNER)
            await self._connection.execute(
                f"CREATE TABLE {table} (LIKE events INCLUDING ALL);"
                f"ALTER TABLE {table} OWNER TO {owner};"
                f"ALTER TABLE events ATTACH PARTITION {table}"
                f" FOR VALUES FROM ({int(partition.first)}) TO ({int(partition.end)});"
                # Attaching a table copies row triggers to it, but no statement triggers.
                f"CREATE TRIGGER events_truncate BEFORE TRUNCATE ON {table} EXECUTE FUNCTION refuse_truncate();"
                f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER events_truncate"
            )

    async def close(self, partition: Partition) -> None:
        """Draw the unused numbers of a partition and discard them, so that the next event goes into the next partition.

        They are drawn with nextval: setting the sequence while writers draw could give the same number out twice.
        """
        with _failures():
            while (left := partition.end - 1 - int(await self._connection.fetchval(_LAST_DRAWN))) > 0:
                began = asyncio.get_running_loop().time()
                await self._connection.execute(
                    "SELECT max(nextval('events_revision')) FROM generate_series(1, $1::bigint)",
                    min(left, _DRAWN_AT_ONCE),
                )
                await asyncio.sleep(asyncio.get_running_loop().time() - began)

    async def settle(self) -> int:
        """Wait until all transactions that may have drawn a revision have ended; return the last revision drawn before.

        After that, every statement sees all events up to that revision that will ever exist. Raises `StillUsed`.
        """
        with _failures():
            last_drawn = int(await self._connection.fetchval(_LAST_DRAWN))
            remaining = frozenset(await self._connection.fetchval(statement.HOLDERS) or ())
            deadline = self._deadline()
            while remaining:
                if asyncio.get_running_loop().time() > deadline:
                    users = holder.sentence(await who.holders(self._connection, transactions=remaining))
                    raise StillUsed(f"transactions are open that may still write old events: {users}")
                await asyncio.sleep(_POLL_SECONDS)
                remaining &= frozenset(await self._connection.fetchval(statement.HOLDERS) or ())
            return last_drawn

    async def forget(self, partition: Partition) -> None:
        """Record that the partition's events are forgotten. The partition must be full and settled."""
        with _failures():
            if not await self._connection.fetchval(_FORGET, partition.name, partition.first, partition.end):
                raise Incomplete("event_history is empty")

    async def discarded(self) -> list[str]:
        """Return the names of the partitions that are forgotten but not dropped yet."""
        with _failures():
            return [row[0] for row in await self._connection.fetch(_DISCARDED)]

    async def discard(self, name: str) -> None:
        """Detach a forgotten partition, if it is still attached, and drop it. Raises `StillUsed`."""
        with _failures():
            table = await self._qualified(name)
            await self._detach(table)
            await self._connection.execute(await self._connection.fetchval(_DROP, table, name))

    async def _detach(self, table: str) -> None:
        # DETACH CONCURRENTLY waits for other transactions to end. The limit for locks holds for this wait too, but no
        # other session waits behind it.
        await self._connection.execute(_LIMIT, f"{int(self._patience_seconds * 1000)}ms")
        is_pending = await self._connection.fetchval(_IS_PENDING, table)
        if is_pending:
            await self._wait_for_users(table)
            await self._connection.execute(f"ALTER TABLE events DETACH PARTITION {table} FINALIZE")
        elif is_pending is not None:
            try:
                await self._connection.execute(f"ALTER TABLE events DETACH PARTITION {table} CONCURRENTLY")
            except asyncpg.LockNotAvailableError as error:
                users = await self._name(await self._connection.fetchval(_USERS, "events") or ())
                raise StillUsed(f"transactions are open that have used the log and keep {table}: {users}") from error
        await self._connection.execute(_LIMIT, sessions.RETENTION["lock_timeout"])

    async def _wait_for_users(self, table: str) -> None:
        # FINALIZE locks the partition before it waits, and could then wait for a session that waits for the partition.
        deadline = self._deadline()
        while pids := await self._connection.fetchval(_USERS, table):
            if asyncio.get_running_loop().time() > deadline:
                raise StillUsed(f"transactions are open that may use {table}: {await self._name(pids)}")
            await asyncio.sleep(_POLL_SECONDS)

    async def _name(self, pids: Sequence[int]) -> str:
        return holder.sentence(await who.holders(self._connection, pids=pids))

    async def _qualified(self, name: str) -> str:
        return str(await self._connection.fetchval(_QUALIFIED, name))

    async def _nth_newest(self, count: int) -> int:
        return int(await self._connection.fetchval(_NTH_NEWEST, count)) if count else 0

    async def _now(self) -> datetime.datetime:
        now = await self._connection.fetchval("SELECT clock_timestamp()")
        assert isinstance(now, datetime.datetime)
        return now

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._patience_seconds


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Turn the driver's errors into `StepFailed` and `StillUsed`."""
    try:
        yield
    except asyncpg.LockNotAvailableError as error:
        raise StillUsed(str(error)) from error
    except Incomplete as error:
        raise StepFailed(str(error)) from error
    except (asyncpg.PostgresError, *engine.CONNECTION_ERRORS) as error:
        raise StepFailed(reach.said(error)) from error
