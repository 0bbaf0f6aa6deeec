"""Forgetting the oldest events while everything else goes on: small partitions, and a copy of what was in them."""

import contextlib
import datetime
from collections.abc import AsyncIterator, Callable

import asyncpg

from support.chaos import archive
from support.chaos.chronicle import Chronicle
from tinkwell.core.event.retention import Partition, Policy, StepFailed
from tinkwell.server.log.retention import Retention
from tinkwell.server.log.store import partition

_WIDTH = 50_000
# A transaction of many rows may fill one by itself.
_AHEAD = 12 * _WIDTH
_PATIENCE_SECONDS = 20


async def narrow_partitions(database_url: str) -> None:
    """Replace the partitions of an empty log by ones that are soon full."""
    connection = await asyncpg.connect(database_url, timeout=10)
    try:
        query = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'events'::regclass"
        for (name,) in await connection.fetch(query):
            await connection.execute(f"DROP TABLE {name}")
        for first in range(0, _AHEAD, _WIDTH):
            await connection.execute(
                f"CREATE TABLE events_{first:012} PARTITION OF events FOR VALUES FROM ({first}) TO ({first + _WIDTH})"
            )
    finally:
        await connection.close(timeout=10)


class Forgetting:
    """Runs the product's own retention, and keeps the events that it forgets in a chronicle."""

    def __init__(self, chronicle: Chronicle, *, age_seconds: float) -> None:
        self.oldest = 1
        self._chronicle = chronicle
        self._policy = Policy(age=datetime.timedelta(seconds=age_seconds), count=0, width=_WIDTH, ready=_AHEAD - _WIDTH)

    async def run(self, database_url: Callable[[], str]) -> bool:
        """Close and drop what is due; return whether a partition was dropped."""
        async with self._chronicle.lock:
            url = database_url()
            retention = Retention(lambda: self._session(url), self._policy, interval_seconds=60)
            with contextlib.suppress(StepFailed):
                await retention.run_once()
            self.oldest = retention.status.oldest_revision or self.oldest
            return retention.status.partitions_dropped > 0

    @contextlib.asynccontextmanager
    async def _session(self, database_url: str) -> AsyncIterator["_CopyingSession"]:
        async with partition.session(database_url, patience_seconds=_PATIENCE_SECONDS) as session:
            yield _CopyingSession(session, database_url, self._chronicle)


class _CopyingSession:
    """A session that copies the events of a partition before it promises to forget them."""

    def __init__(self, session: partition.PartitionSession, database_url: str, chronicle: Chronicle) -> None:
        self._url = database_url
        self._chronicle = chronicle
        self._session = session
        self.may_change = session.may_change
        self.lock = session.lock
        self.look = session.look
        self.add = session.add
        self.close = session.close
        self.settle = session.settle
        self.discarded = session.discarded
        self.discard = session.discard

    async def forget(self, partition: Partition) -> None:
        """Copy, then forget; its transactions have ended by now, so that the copy is complete."""
        rows = await archive.read_rows(self._url, first=partition.first, end=partition.end)
        self._chronicle.forget(rows)
        await self._session.forget(partition)
