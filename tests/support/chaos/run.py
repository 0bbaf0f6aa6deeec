"""One run: everything is started, goes wrong, settles, and is judged."""

import asyncio
import contextlib
import dataclasses
import itertools
import json
import logging
import os
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import asyncpg

from support.chaos import archive, forgetting, report
from support.chaos.api_writer import ApiWriter
from support.chaos.audience import Audience
from support.chaos.cluster import Cluster
from support.chaos.deck import Deck
from support.chaos.fault import Faults, Kind
from support.chaos.forgetting import Forgetting
from support.chaos.ledger import Ledger
from support.chaos.server import Server, workers_option
from support.chaos.sql_writer import SqlWriter
from support.history import verdict
from support.history.record import Change, History, Outcome, Violation
from support.waiting import eventually

_SQL_WRITERS = 10
_API_WRITERS = 3
_HOT_MACHINES = 6
_THOROUGH_SECONDS = 120
_SETTLE_SECONDS = 90
_PROGRESS_SECONDS = 30

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """What a run is to be. Each kind of fault is injected at least `rounds` times, however long that takes.

    All files go to the directory, which must be one that PostgreSQL can use as a state directory. The history goes to
    `output` if it is to be kept, or if something was violated.
    """

    seed: int
    seconds: float
    rounds: int
    directory: Path
    output: Path
    is_kept: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What was found, how often each kind of fault was injected, and both told for people."""

    violations: Sequence[Violation]
    injected: Counter[Kind]
    text: str


async def run(options: Options) -> Result:
    """Run, and return what was found. Must be called in the main thread, as PostgreSQL is started."""
    return await _Run(options).run()


class _Run:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._chance = random.Random(options.seed)
        self._ledger = Ledger()
        self._is_thorough = options.seconds >= _THOROUGH_SECONDS
        self._forgetting = Forgetting(age_seconds=30 if self._is_thorough else 3)
        self._hot = [uuid.UUID(int=self._chance.getrandbits(128), version=4) for _ in range(_HOT_MACHINES)]
        bin_dir = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
        self._cluster = Cluster(options.directory, bin_dir=bin_dir)

    async def run(self) -> Result:
        await self._cluster.start()
        try:
            logger.info("PostgreSQL runs")
            await forgetting.narrow_partitions(self._cluster.url)
            await self._add_hot_machines()
            async with self._servers() as servers:
                logger.info("the servers run")
                return await self._disturb(servers)
        finally:
            await self._cluster.stop()

    async def _disturb(self, servers: list[Server]) -> Result:
        audience = Audience(servers, hot=self._hot, chance=self._derived())
        faults = Faults(
            self._cluster,
            servers,
            audience,
            self._ledger,
            self._forgetting,
            chance=self._derived(),
            is_thorough=self._is_thorough,
        )
        deck = Deck(
            list(Kind),
            faults.inject,
            chance=self._derived(),
            seconds=self._options.seconds,
            rounds=self._options.rounds,
        )
        async with asyncio.TaskGroup() as watchers:
            tasks = [watchers.create_task(consumer.run(), name=consumer.name) for consumer in audience.residents]
            tasks.append(watchers.create_task(self._observe(servers, deck)))
            is_over = asyncio.Event()
            async with asyncio.TaskGroup() as writers:
                self._start_writers(writers, servers, is_over)
                await deck.deal()
                is_over.set()
            logger.info("no more faults; everybody may arrive")
            history = await self._settle(audience)
            logger.info("everybody has arrived, or had the time to")
            # While this judges, nothing else of this process runs, so the records stay as they are.
            violations = verdict.judge(history) + self._complaints(servers, deck)
            told = report.tell(
                deck,
                servers,
                self._ledger,
                history,
                violations,
                seed=self._options.seed,
                postgres=self._cluster.version,
            )
            if violations or self._options.is_kept:
                archive.write(history, self._options.output)
            for task in tasks:
                task.cancel()
        return Result(violations, deck.injected, told)

    def _start_writers(self, writers: asyncio.TaskGroup, servers: list[Server], is_over: asyncio.Event) -> None:
        for number in range(_SQL_WRITERS):
            sql = SqlWriter(f"sql{number}", self._cluster.url, self._ledger, hot=self._hot, chance=self._derived())
            writers.create_task(sql.run(is_over))
        for number in range(_API_WRITERS):
            api = ApiWriter(f"api{number}", servers, self._ledger, hot=self._hot, chance=self._derived())
            writers.create_task(api.run(is_over))

    async def _settle(self, audience: Audience) -> History:
        """Wait until no transaction is open and everybody has received everything, or the patience is over."""
        connection = await asyncpg.connect(self._cluster.url, timeout=10, command_timeout=60)
        try:
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: _is_quiet(connection), deadline_seconds=60, interval_seconds=0.1)
            last = await connection.fetchval("SELECT coalesce(max(revision), 0) FROM events")
            with contextlib.suppress(TimeoutError):
                await eventually(
                    lambda: audience.has_arrived(last), deadline_seconds=_SETTLE_SECONDS, interval_seconds=0.1
                )
            history_id, oldest = await connection.fetchrow(
                "SELECT history_id::text, oldest_revision FROM event_history"
            )
        finally:
            await connection.close(timeout=10)
        kept = {row.revision: row for row in await archive.read_rows(self._cluster.url)}
        rows = [row for _, row in sorted((self._forgetting.forgotten | kept).items())]
        return History(history_id, rows, self._ledger.transactions, audience.records, oldest)

    def _complaints(self, servers: list[Server], deck: Deck[Kind]) -> list[Violation]:
        """What nobody's records show: processes that ended badly, calls that were answered with a fault, and faults
        that did not happen.
        """
        for server in servers:
            server.look()
        found = [Violation("W9", server.name, text) for server in servers for text in server.complaints]
        found += [Violation("W9", "chaos", text) for text in deck.shortfalls]
        return found + [Violation("W9", "writer", text) for text in self._ledger.complaints]

    async def _add_hot_machines(self) -> None:
        connection = await asyncpg.connect(self._cluster.url, timeout=10)
        try:
            for number, machine in enumerate(self._hot):
                token = f"chaos-setup-{number}-1"
                metadata = json.dumps({"token": token})
                await connection.execute("INSERT INTO hardware (id, metadata) VALUES ($1, $2)", machine, metadata)
                change = Change(token, "CREATED", str(machine), 1)
                self._ledger.add("setup", Outcome.COMMITTED, [change])
        finally:
            await connection.close(timeout=10)

    @contextlib.asynccontextmanager
    async def _servers(self) -> AsyncIterator[list[Server]]:
        """Run two servers, one of them with two workers where servers can have workers."""
        options = await workers_option(2)
        servers = [
            Server("one", self._options.directory, self._cluster.url),
            Server("two", self._options.directory, self._cluster.url, options=options),
        ]
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(server.run(), name=server.name) for server in servers]
            try:
                for server in servers:
                    await server.ready.wait()
                yield servers
            finally:
                for task in running:
                    task.cancel()

    async def _observe(self, servers: list[Server], deck: Deck[Kind]) -> None:
        for second in itertools.count():
            for server in servers:
                server.measure()
            if second % _PROGRESS_SECONDS == 0:
                known = len(self._ledger.transactions)
                logger.info("after %d s: %d faults, %d transactions", second, deck.injected.total(), known)
            await asyncio.sleep(1)

    def _derived(self) -> random.Random:
        return random.Random(self._chance.getrandbits(64))


async def _is_quiet(connection: asyncpg.Connection) -> bool:
    """Whether nobody can commit any more: neither writers nor requests of theirs that servers are still busy with."""
    return not await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND (application_name LIKE 'chaos%' OR (application_name = 'tinkwell' AND xact_start IS NOT NULL))"
    )
