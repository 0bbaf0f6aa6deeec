"""What the kinds of faults are made of: injuries to workers, machines, servers and PostgreSQL.

Each method returns whether it really happened, and returns when it is over.
"""

import asyncio
import contextlib
import random
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import asyncpg

from support.chaos import worker
from support.chaos.cluster import Cluster
from support.chaos.server import Server
from support.chaos.worker import Site, Worker
from tinkwell.server.database import engine

# Most runs are over in less than a second, and few at the same time.
_LOOKS_FOR_A_RUN = 20
_ERRORS = (asyncpg.PostgresError, *engine.CONNECTION_ERRORS)
_BACKEND = """
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1
"""


class Injuries:
    """Injures one of those that there are, by chance."""

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
        self._chance = chance
        self._lease_seconds = lease_seconds

    def moment(self) -> float:
        """Draw some seconds that nobody is missed for."""
        return self._chance.uniform(0, 2)

    def absence(self, *, low: float = 1.1, high: float = 2.0) -> float:
        """Draw some seconds that are longer than a lease, by these factors."""
        return self._lease_seconds * self._chance.uniform(low, high)

    async def kill(self, workers: Sequence[Worker], down_seconds: float) -> bool:
        """Kill a worker."""
        async with self._some(workers) as victim:
            await victim.kill(down_seconds=down_seconds)
        return True

    async def stop(self, workers: Sequence[Worker]) -> bool:
        """Ask a worker to end."""
        async with self._some(workers) as victim:
            await victim.terminate(down_seconds=self.moment())
        return True

    async def freeze(self, workers: Sequence[Worker], seconds: float) -> bool:
        """Stop a worker for a while."""
        async with self._some(workers) as victim:
            await victim.freeze(seconds=seconds)
        return True

    async def reboot(self) -> bool:
        """Kill all workers and runs of a machine."""
        await self._chance.choice(self._sites).reboot(down_seconds=self.moment())
        return True

    async def desert(self) -> bool:
        """Kill all workers of a machine for so long that others, elsewhere, take over what they did."""
        await self._chance.choice(self._sites).desert(down_seconds=self.absence(low=2.0, high=3.0))
        return True

    async def kill_run(self, name: str, *, of: Callable[[Path], bool] = lambda _: True) -> bool:
        """Kill the process of this name (`shim`, `process`) of a run, or of one with such a folder."""
        for _ in range(_LOOKS_FOR_A_RUN):
            if found := [pid for site in self._sites for pid in site.processes(name, of=of)]:
                worker.kill(self._chance.choice(found))
                return True
            await asyncio.sleep(self._chance.uniform(0, 0.2))
        return False

    async def kill_server(self) -> bool:
        """Kill a server."""
        async with self._some_server() as server:
            await server.kill(down_seconds=self.moment(), is_whole=True)
        return True

    async def stop_server(self) -> bool:
        """Ask a server to end."""
        async with self._some_server() as server:
            await server.terminate(down_seconds=self.moment())
        return True

    async def freeze_server(self) -> bool:
        """Stop a server for a while."""
        async with self._some_server() as server:
            await server.freeze(seconds=self._chance.uniform(0.5, 1.5 * self._lease_seconds), chance=self._chance)
        return True

    async def kill_backend(self) -> bool:
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

    async def restart(self, how: signal.Signals) -> bool:
        """Restart PostgreSQL, by SIGINT fast and by SIGQUIT as in a crash."""
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
            await asyncio.sleep(self.moment())
            yield victim

    @contextlib.asynccontextmanager
    async def _some_server(self) -> AsyncIterator[Server]:
        server = self._chance.choice(self._servers)
        async with server.lock:
            await server.ready.wait()
            yield server
