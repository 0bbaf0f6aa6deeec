"""What can go wrong, kind by kind. Each returns whether it really did: there may have been nothing to break."""

import asyncio
import contextlib
import enum
import json
import random
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg

from support.chaos import sql_writer
from support.chaos.audience import Audience
from support.chaos.cluster import Cluster
from support.chaos.forgetting import Forgetting
from support.chaos.ledger import Ledger, Marks
from support.chaos.server import Server
from support.history.record import Change, FromRevision, Outcome
from support.hole import Hole
from support.waiting import eventually
from tinkwell.server.database import engine

_ERRORS = (asyncpg.PostgresError, *engine.CONNECTION_ERRORS)
_CONNECT_SECONDS = 5
_APPLICATION = "chaos fault"
_TERMINATE = """
    SELECT count(*) FROM (
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = $1 AND datname = current_database() AND ($2 = '' OR state LIKE $2)
         ORDER BY random() LIMIT $3
    ) ended
"""
# Longer than the bell session may be idle, so that the bell is taken from the frozen server.
_BELL_LOST_SECONDS = 17.0


class Kind(enum.StrEnum):
    """The kinds of faults."""

    LISTENER = "LISTEN backend terminated"
    BELL = "bell backend terminated"
    READER = "reader backend terminated"
    REPLAY = "replay backends terminated"
    POOL = "pool backends terminated"
    WRITER = "writer backends terminated in their transactions"
    FAST_RESTART = "PostgreSQL restarted (fast)"
    IMMEDIATE_RESTART = "PostgreSQL restarted (immediate)"
    KILLED_SERVER = "server killed (SIGKILL)"
    KILLED_WORKER = "worker of a server killed (SIGKILL)"
    STOPPED_SERVER = "server stopped (SIGTERM)"
    FROZEN_SERVER = "server frozen (SIGSTOP) and thawed"
    FROZEN_CONSUMER = "consumer frozen and thawed"
    SLOW_CONSUMER = "consumer slowed down"
    CLOSED_CONSUMER = "consumer closed its channel"
    SILENT_CONSUMER = "consumer vanished without a word"
    RECONNECT = "consumer reconnected"
    OPEN_GAP = "gap held open by a transaction"
    FORGETTING = "oldest events forgotten, their partition dropped"


class Faults:
    """Injects faults. `is_thorough` takes the time for those that last longer than a minute's test has."""

    def __init__(
        self,
        cluster: Cluster,
        servers: list[Server],
        audience: Audience,
        ledger: Ledger,
        forgetting: Forgetting,
        *,
        chance: random.Random,
        is_thorough: bool,
    ) -> None:
        self._cluster = cluster
        self._servers = servers
        self._audience = audience
        self._ledger = ledger
        self._forgetting = forgetting
        self._chance = chance
        self._is_thorough = is_thorough
        self._marks = Marks("gap")

    async def inject(self, kind: Kind) -> bool:
        """Let it happen, and end; return whether it did."""
        faults: dict[Kind, Callable[[], Awaitable[bool]]] = {
            Kind.LISTENER: lambda: self._terminate("tinkwell listener"),
            Kind.BELL: lambda: self._terminate("tinkwell bell"),
            Kind.READER: lambda: self._terminate("tinkwell reader"),
            Kind.REPLAY: self._terminate_replay,
            Kind.POOL: lambda: self._terminate("tinkwell", count=20),
            Kind.WRITER: self._terminate_writers,
            Kind.FAST_RESTART: lambda: self._restart(signal.SIGINT),
            Kind.IMMEDIATE_RESTART: lambda: self._restart(signal.SIGQUIT),
            Kind.KILLED_SERVER: self._kill_server,
            Kind.KILLED_WORKER: self._kill_worker,
            Kind.STOPPED_SERVER: self._stop_server,
            Kind.FROZEN_SERVER: self._freeze_server,
            Kind.FROZEN_CONSUMER: self._freeze_consumer,
            Kind.SLOW_CONSUMER: self._slow_consumer_down,
            Kind.CLOSED_CONSUMER: self._close_consumer,
            Kind.SILENT_CONSUMER: self._silence_consumer,
            Kind.RECONNECT: self._reconnect,
            Kind.OPEN_GAP: self._hold_gap_open,
            Kind.FORGETTING: lambda: self._forgetting.run(self._cluster.url),
        }
        return await faults[kind]()

    async def _terminate(self, application: str, *, state: str = "", count: int = 1) -> bool:
        try:
            async with self._connected() as connection:
                return bool(await connection.fetchval(_TERMINATE, application, state, count))
        except _ERRORS:
            return False

    async def _terminate_writers(self) -> bool:
        # Whoever is between two statements of a transaction, or else in the middle of one.
        for state in ("idle in transaction%", "active"):
            if await self._terminate(sql_writer.APPLICATION, state=state, count=3):
                return True
        return False

    async def _terminate_replay(self) -> bool:
        """Let somebody read the table from its beginning, and end the backend while it is being read."""
        server = self._chance.choice(self._servers)
        async with self._audience.visitor(FromRevision(self._forgetting.oldest), server) as visitor:
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: visitor.record.reached > 0, deadline_seconds=5)
            return await self._terminate("tinkwell replay", count=10)

    async def _restart(self, how: signal.Signals) -> bool:
        async with self._cluster.lock:
            await self._cluster.restart(how, down_seconds=self._chance.uniform(0, 1))
        return True

    async def _kill_server(self) -> bool:
        async with self._some_server() as server:
            await server.kill(down_seconds=self._chance.uniform(0, 2), is_whole=self._chance.random() < 0.5)
        return True

    async def _kill_worker(self) -> bool:
        async with self._some_server() as server:
            return server.kill_worker(self._chance)

    async def _stop_server(self) -> bool:
        async with self._some_server() as server:
            await server.terminate(down_seconds=self._chance.uniform(0, 2))
        return True

    async def _freeze_server(self) -> bool:
        is_long = self._is_thorough and self._chance.random() < 0.2
        async with self._some_server() as server:
            seconds = _BELL_LOST_SECONDS if is_long else self._chance.uniform(1, 5)
            await server.freeze(seconds=seconds, chance=self._chance)
        return True

    async def _freeze_consumer(self) -> bool:
        consumer = self._audience.some()
        consumer.may_read.clear()
        try:
            await asyncio.sleep(self._chance.uniform(2, 20 if self._is_thorough else 6))
        finally:
            consumer.may_read.set()
        return True

    async def _slow_consumer_down(self) -> bool:
        consumer = self._audience.some()
        consumer.delay_seconds = self._chance.uniform(0.01, 0.3)
        try:
            await asyncio.sleep(self._chance.uniform(2, 10 if self._is_thorough else 4))
        finally:
            consumer.delay_seconds = 0
        return True

    async def _close_consumer(self) -> bool:
        server = self._chance.choice(self._servers)
        async with self._audience.visitor(self._some_start(), server):
            await asyncio.sleep(self._chance.uniform(0.1, 2))
        return True

    async def _silence_consumer(self) -> bool:
        """Watch through a connection that swallows everything from some moment on."""
        server = self._chance.choice(self._servers)
        async with Hole(server.address).running() as hole, self._audience.visitor(self._some_start(), hole) as visitor:
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: visitor.record.reached > 0, deadline_seconds=5)
            hole.open()
            await asyncio.sleep(35 if self._is_thorough else 5)
            return visitor.record.reached > 0

    async def _reconnect(self) -> bool:
        rewind = self._chance.choice((0, 0, 1, 100, 10_000))
        for consumer in self._chance.sample(self._audience.residents, 3):
            consumer.leave(rewind=rewind)
        return True

    async def _hold_gap_open(self) -> bool:
        """Draw revisions, then wait, so that nothing above them may be delivered; then commit or not."""
        self._marks.begin()
        changes: list[Change] = []
        outcome = Outcome.ROLLED_BACK
        try:
            async with self._connected() as connection:
                await connection.execute("BEGIN")
                for _ in range(self._chance.randint(1, 3)):
                    machine, token = uuid.UUID(int=self._chance.getrandbits(128), version=4), self._marks.next()
                    changes.append(Change(token, "CREATED", str(machine), 1))
                    await connection.execute(
                        "INSERT INTO hardware (id, metadata) VALUES ($1, $2)", machine, json.dumps({"token": token})
                    )
                await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
                await asyncio.sleep(self._chance.uniform(0.5, 4))
                if self._chance.random() < 0.5:
                    outcome = Outcome.UNKNOWN
                    await connection.execute("COMMIT")
                    outcome = Outcome.COMMITTED
                else:
                    await connection.execute("ROLLBACK")
        except _ERRORS:
            # Its gap was held open all the same, if it got that far.
            return bool(changes)
        finally:
            self._ledger.add("gap", outcome, changes)
        return True

    def _some_start(self) -> FromRevision:
        reached = max(record.reached for record in self._audience.records)
        return FromRevision(self._chance.randint(max(1, reached - 20_000), reached + 1))

    @contextlib.asynccontextmanager
    async def _some_server(self) -> AsyncIterator[Server]:
        server = self._chance.choice(self._servers)
        async with server.lock:
            await server.ready.wait()
            yield server

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(
            self._cluster.url,
            timeout=_CONNECT_SECONDS,
            command_timeout=20,
            server_settings={"application_name": _APPLICATION},
        )
        try:
            yield connection
        finally:
            connection.terminate()
