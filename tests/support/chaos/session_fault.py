"""What befalls sessions of PostgreSQL: they are terminated, and new ones begin with other settings."""

import asyncio
import contextlib

from support.chaos import role_setting, session, sql_writer
from support.chaos.scene import Scene
from support.history.record import FromRevision
from support.waiting import eventually

_TERMINATE = """
    SELECT count(*) FROM (
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = $1 AND datname = current_database() AND ($2 = '' OR state LIKE $2)
         ORDER BY random() LIMIT $3
    ) ended
"""
_TERMINATE_SERVERS = """
    SELECT count(*) FROM (
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name LIKE 'tinkwell%' AND application_name <> 'tinkwell retention'
           AND datname = current_database() AND backend_start >= now() - make_interval(secs => $1)
    ) ended
"""
_EVER_SECONDS = 1e6
_PURSUIT_SECONDS = 1.5


class SessionFaults:
    """Terminates sessions. Each returns whether it really happened."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._chance = scene.chance

    async def terminate(self, application: str, *, state: str = "", count: int = 1) -> bool:
        """Terminate sessions with this purpose."""
        try:
            async with session.connected(self._scene.pair.url) as connection:
                return bool(await connection.fetchval(_TERMINATE, application, state, count))
        except session.ERRORS:
            return False

    async def terminate_writers(self) -> bool:
        """Terminate whoever is between two statements of a transaction, or else in the middle of one."""
        for state in ("idle in transaction%", "active"):
            if await self.terminate(sql_writer.APPLICATION, state=state, count=3):
                return True
        return False

    async def terminate_replay(self) -> bool:
        """Let somebody read the table from its beginning, and end the backend while it is being read."""
        server = self._chance.choice(self._scene.servers)
        async with self._scene.audience.visitor(FromRevision(self._scene.forgetting.oldest), server) as visitor:
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: visitor.record.reached > 0, deadline_seconds=5)
            return await self.terminate("tinkwell replay", count=10)

    async def terminate_retention(self) -> bool:
        """Let retention look at the log, and end its session meanwhile."""
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self._scene.forgetting.run(lambda: self._scene.pair.url))
            while not running.done():
                if await self.terminate("tinkwell retention"):
                    return True
                await asyncio.sleep(self._chance.uniform(0, 0.02))
        return False

    async def terminate_checks(self) -> bool:
        """Let a server start, and end each session that it begins, for a while."""
        count = 0
        async with self._scene.some_server() as server, asyncio.TaskGroup() as tasks:
            restarting = tasks.create_task(server.terminate(down_seconds=0))
            await eventually(lambda: not server.ready.is_set() or restarting.done(), deadline_seconds=60)
            loop = asyncio.get_running_loop()
            until = None
            while not restarting.done() and (until is None or loop.time() < until):
                ended = await self._terminate_servers(0.5)
                if ended and until is None:
                    until = loop.time() + _PURSUIT_SECONDS
                count += ended
                await asyncio.sleep(0.02)
        return count > 0

    async def give_setting(self) -> bool:
        """Let a role or a database have a setting for a while in which all sessions of servers begin anew."""
        setting = self._chance.choice(role_setting.SETTINGS)
        # What is done over sessions of the same role must not fail of it: neither restoring nor forgetting.
        async with self._scene.pair.lock, self._scene.chronicle.lock:
            try:
                async with (
                    session.connected(self._scene.pair.url) as connection,
                    role_setting.given(connection, setting, is_of_role=self._chance.random() < 0.5),
                ):
                    await self._terminate_servers(_EVER_SECONDS)
                    await asyncio.sleep(self._scene.moment(1, 4))
                await self._terminate_servers(_EVER_SECONDS)
            except session.ERRORS:
                return False
        return True

    async def _terminate_servers(self, younger_than_seconds: float) -> int:
        """End the sessions of all servers that are younger than that, and return how many there were."""
        try:
            async with session.connected(self._scene.pair.url) as connection:
                return int(await connection.fetchval(_TERMINATE_SERVERS, younger_than_seconds))
        except session.ERRORS:
            return 0
