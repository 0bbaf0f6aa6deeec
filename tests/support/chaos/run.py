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

from support import role
from support.chaos import archive, forgetting, gateway, report, session
from support.chaos.api_writer import ApiWriter
from support.chaos.audience import Audience
from support.chaos.chronicle import Chronicle
from support.chaos.deck import Deck
from support.chaos.fault import Faults
from support.chaos.forgetting import Forgetting
from support.chaos.gate import Gate
from support.chaos.gateway import Gateway
from support.chaos.kind import Kind
from support.chaos.ledger import Ledger
from support.chaos.pair import Pair
from support.chaos.scene import Scene
from support.chaos.server import Server, workers_option
from support.chaos.sql_writer import SqlWriter
from support.history import verdict
from support.history.record import Change, Era, History, Outcome, Violation
from support.waiting import eventually
from tinkwell.server.app.dev import place

# In a thorough run, and else.
_SQL_WRITERS = {True: 10, False: 5}
_API_WRITERS = {True: 3, False: 2}
_HOT_MACHINES = 6
_THOROUGH_SECONDS = 120
_SETTLE_SECONDS = 90
_PROGRESS_SECONDS = 30
# Several wait for each other: one alone may restart PostgreSQL, restore it, or let another take over.
_AT_ONCE = 8

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
        self._chronicle = Chronicle()
        self._forgetting = Forgetting(self._chronicle, age_seconds=30 if self._is_thorough else 3)
        self._gate = Gate()
        self._hot = [uuid.UUID(int=self._chance.getrandbits(128), version=4) for _ in range(_HOT_MACHINES)]
        self._bin_dir = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None

    async def run(self) -> Result:
        with place.temporary() as other_home:
            pair = Pair((self._options.directory, other_home), bin_dir=self._bin_dir)
            await pair.start()
            try:
                logger.info("PostgreSQL runs")
                await forgetting.narrow_partitions(pair.url)
                await self._add_hot_machines(pair.url)
                doors_log = self._options.directory / "doors.log"
                async with gateway.running(pair.sockets, log=doors_log) as doors, self._servers(pair, doors) as servers:
                    logger.info("the servers run")
                    return await self._disturb(pair, doors, servers)
            finally:
                await pair.stop()

    async def _disturb(self, pair: Pair, doors: Gateway, servers: list[Server]) -> Result:
        await self._begin_chronicle(pair.url)
        audience = Audience(servers, hot=self._hot, chance=self._derived())
        scene = Scene(
            pair=pair,
            servers=servers,
            audience=audience,
            ledger=self._ledger,
            chronicle=self._chronicle,
            forgetting=self._forgetting,
            gate=self._gate,
            gateway=doors,
            chance=self._derived(),
            is_thorough=self._is_thorough,
        )
        deck = Deck(
            list(Kind),
            Faults(scene, directory=self._options.directory).inject,
            chance=self._derived(),
            seconds=self._options.seconds,
            rounds=self._options.rounds,
            at_once=_AT_ONCE,
        )
        async with asyncio.TaskGroup() as watchers:
            tasks = [watchers.create_task(consumer.run(), name=consumer.name) for consumer in audience.residents]
            tasks.append(watchers.create_task(self._observe(servers, deck)))
            is_over = asyncio.Event()
            async with asyncio.TaskGroup() as writers:
                self._start_writers(writers, scene, is_over)
                await deck.deal()
                is_over.set()
            logger.info("no more faults; everybody may arrive")
            history = await self._settle(pair.url, audience)
            logger.info("everybody has arrived, or had the time to")
            result = self._judge(history, scene, deck)
            for task in tasks:
                task.cancel()
        return result

    def _judge(self, history: History, scene: Scene, deck: Deck[Kind]) -> Result:
        # While this judges, nothing else of this process runs, so the records stay as they are.
        violations = verdict.judge(history) + self._complaints(scene.servers, deck)
        told = report.tell(
            deck,
            scene.servers,
            self._ledger,
            history,
            violations,
            seed=self._options.seed,
            postgres=scene.pair.version,
        )
        if violations or self._options.is_kept:
            archive.write(history, self._options.output)
        return Result(violations, deck.injected, told)

    def _start_writers(self, writers: asyncio.TaskGroup, scene: Scene, is_over: asyncio.Event) -> None:
        for number in range(_SQL_WRITERS[self._is_thorough]):
            sql = SqlWriter(
                f"sql{number}",
                lambda: scene.pair.url,
                self._ledger,
                hot=self._hot,
                chance=self._derived(),
                gate=self._gate,
            )
            writers.create_task(sql.run(is_over))
        for number in range(_API_WRITERS[self._is_thorough]):
            api = ApiWriter(
                f"api{number}", scene.servers, self._ledger, hot=self._hot, chance=self._derived(), gate=self._gate
            )
            writers.create_task(api.run(is_over))

    async def _begin_chronicle(self, database_url: str) -> None:
        async with session.connected(database_url) as connection:
            history_id = await connection.fetchval("SELECT history_id::text FROM event_history")
        self._chronicle.present = Era(history_id, [])

    async def _settle(self, database_url: str, audience: Audience) -> History:
        """Wait until no transaction is open and everybody has received everything, or the patience is over."""
        async with session.connected(database_url, command_seconds=60) as connection:
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
        eras = self._chronicle.end(await archive.read_rows(database_url), oldest)
        if history_id != eras[-1].history_id:
            text = f"the log's history is {history_id}, which nothing has made of {eras[-1].history_id}"
            self._ledger.complaints.append(text)
        return History(eras, self._ledger.transactions, audience.records)

    def _complaints(self, servers: Sequence[Server], deck: Deck[Kind]) -> list[Violation]:
        """What nobody's records show: processes that ended badly, calls that were answered with a fault, and faults
        that did not happen.
        """
        for server in servers:
            server.look()
        found = [Violation("W9", server.name, text) for server in servers for text in server.complaints]
        found += [Violation("W9", "chaos", text) for text in deck.shortfalls]
        return found + [Violation("W9", "writer", text) for text in self._ledger.complaints]

    async def _add_hot_machines(self, database_url: str) -> None:
        connection = await asyncpg.connect(database_url, timeout=10)
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
    async def _servers(self, pair: Pair, doors: Gateway) -> AsyncIterator[list[Server]]:
        """Run two servers, one of them with two workers where servers can have workers."""
        url = role.url_of_server(pair.url)
        servers = [
            Server(name, self._options.directory, await doors.add(name, url), options=options)
            for name, options in (("one", ()), ("two", await workers_option(2)))
        ]
        await doors.shut(pair.spare)
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
