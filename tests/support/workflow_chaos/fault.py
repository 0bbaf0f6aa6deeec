"""What can happen to those who bring workflows to completion, kind by kind. Each returns whether it really did."""

import asyncio
import contextlib
import enum
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import asyncpg

from support.chaos.cluster import Cluster
from support.chaos.server import Server
from support.workflow_chaos import worker
from support.workflow_chaos.worker import Site, Worker
from tinkwell.server.database import engine

# Most runs are over in less than a second, and few at the same time.
_LOOKS_FOR_A_RUN = 20
_ERRORS = (asyncpg.PostgresError, *engine.CONNECTION_ERRORS)
_BACKEND = """
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1
"""


class Kind(enum.StrEnum):
    """The kinds of faults."""

    KILLED_PROVISIONER = "provisioner killed (SIGKILL)"
    MISSED_PROVISIONER = "provisioner killed, away for longer than its lease"
    STOPPED_PROVISIONER = "provisioner stopped (SIGTERM)"
    FROZEN_PROVISIONER = "provisioner frozen (SIGSTOP) and thawed"
    DREAMING_PROVISIONER = "provisioner frozen for longer than its lease"
    KILLED_AGENT = "agent killed (SIGKILL)"
    MISSED_AGENT = "agent killed, away for longer than its lease"
    STOPPED_AGENT = "agent stopped (SIGTERM)"
    FROZEN_AGENT = "agent frozen (SIGSTOP) and thawed"
    DREAMING_AGENT = "agent frozen for longer than its lease"
    REBOOT = "machine rebooted: workers and runs killed"
    KILLED_RUN = "run of an action killed (SIGKILL)"
    KILLED_SUPERVISOR = "supervisor of a run killed (SIGKILL)"
    KILLED_SERVER = "server killed (SIGKILL)"
    STOPPED_SERVER = "server stopped (SIGTERM)"
    FROZEN_SERVER = "server frozen (SIGSTOP) and thawed"
    KILLED_BACKEND = "PostgreSQL backend killed (SIGKILL)"
    FAST_RESTART = "PostgreSQL restarted (fast)"
    IMMEDIATE_RESTART = "PostgreSQL restarted (immediate)"


class Faults:
    """Injects faults. The first site is that of the provisioners, every other one that of an agent."""

    def __init__(
        self,
        cluster: Cluster,
        servers: Sequence[Server],
        sites: Sequence[Site],
        *,
        chance: random.Random,
        lease_seconds: float,
    ) -> None:
        self._cluster = cluster
        self._servers = servers
        self._sites = sites
        self._provisioners = sites[0].workers
        self._agents = [agent for site in sites[1:] for agent in site.workers]
        self._chance = chance
        self._lease_seconds = lease_seconds

    async def inject(self, kind: Kind) -> bool:
        """Let it happen, and end; return whether it did."""
        provisioners, agents = self._provisioners, self._agents
        faults: dict[Kind, Callable[[], Awaitable[bool]]] = {
            Kind.KILLED_PROVISIONER: lambda: self._kill(provisioners, self._moment()),
            Kind.MISSED_PROVISIONER: lambda: self._kill(provisioners, self._absence()),
            Kind.STOPPED_PROVISIONER: lambda: self._stop(provisioners),
            Kind.FROZEN_PROVISIONER: lambda: self._freeze(provisioners, self._moment()),
            Kind.DREAMING_PROVISIONER: lambda: self._freeze(provisioners, self._absence()),
            Kind.KILLED_AGENT: lambda: self._kill(agents, self._moment()),
            Kind.MISSED_AGENT: lambda: self._kill(agents, self._absence()),
            Kind.STOPPED_AGENT: lambda: self._stop(agents),
            Kind.FROZEN_AGENT: lambda: self._freeze(agents, self._moment()),
            Kind.DREAMING_AGENT: lambda: self._freeze(agents, self._absence()),
            Kind.REBOOT: self._reboot,
            Kind.KILLED_RUN: lambda: self._kill_run("process"),
            Kind.KILLED_SUPERVISOR: lambda: self._kill_run("shim"),
            Kind.KILLED_SERVER: self._kill_server,
            Kind.STOPPED_SERVER: self._stop_server,
            Kind.FROZEN_SERVER: self._freeze_server,
            Kind.KILLED_BACKEND: self._kill_backend,
            Kind.FAST_RESTART: lambda: self._restart(signal.SIGINT),
            Kind.IMMEDIATE_RESTART: lambda: self._restart(signal.SIGQUIT),
        }
        return await faults[kind]()

    def _moment(self) -> float:
        return self._chance.uniform(0, 2)

    def _absence(self) -> float:
        return self._lease_seconds * self._chance.uniform(1.1, 2)

    async def _kill(self, workers: Sequence[Worker], down_seconds: float) -> bool:
        async with self._some(workers) as victim:
            await victim.kill(down_seconds=down_seconds)
        return True

    async def _stop(self, workers: Sequence[Worker]) -> bool:
        async with self._some(workers) as victim:
            await victim.terminate(down_seconds=self._moment())
        return True

    async def _freeze(self, workers: Sequence[Worker], seconds: float) -> bool:
        async with self._some(workers) as victim:
            await victim.freeze(seconds=seconds)
        return True

    async def _reboot(self) -> bool:
        await self._chance.choice(self._sites).reboot(down_seconds=self._moment())
        return True

    async def _kill_run(self, name: str) -> bool:
        for _ in range(_LOOKS_FOR_A_RUN):
            if found := [pid for site in self._sites for pid in site.processes(name)]:
                worker.kill(self._chance.choice(found))
                return True
            await asyncio.sleep(self._chance.uniform(0, 0.2))
        return False

    async def _kill_server(self) -> bool:
        async with self._some_server() as server:
            await server.kill(down_seconds=self._moment(), is_whole=True)
        return True

    async def _stop_server(self) -> bool:
        async with self._some_server() as server:
            await server.terminate(down_seconds=self._moment())
        return True

    async def _freeze_server(self) -> bool:
        async with self._some_server() as server:
            await server.freeze(seconds=self._chance.uniform(0.5, 1.5 * self._lease_seconds), chance=self._chance)
        return True

    async def _kill_backend(self) -> bool:
        """Kill a backend, at which PostgreSQL ends all others and recovers as after a crash."""
        try:
            connection = await asyncpg.connect(self._cluster.url, timeout=5, command_timeout=5)
            try:
                pid = await connection.fetchval(_BACKEND)
            finally:
                connection.terminate()
        except _ERRORS:
            return False
        if pid is not None:
            worker.kill(pid)
        return pid is not None

    async def _restart(self, how: signal.Signals) -> bool:
        async with self._cluster.lock:
            await self._cluster.restart(how, down_seconds=self._chance.uniform(0, 1))
        return True

    @contextlib.asynccontextmanager
    async def _some(self, workers: Sequence[Worker]) -> AsyncIterator[Worker]:
        """Choose one that nobody injures now, if there is one, and give it some moments to come to itself."""
        free = [one for one in workers if not one.lock.locked()] or workers
        victim = self._chance.choice(free)
        async with victim.lock:
            await victim.settle()
            await asyncio.sleep(self._moment())
            yield victim

    @contextlib.asynccontextmanager
    async def _some_server(self) -> AsyncIterator[Server]:
        server = self._chance.choice(self._servers)
        async with server.lock:
            await server.ready.wait()
            yield server
