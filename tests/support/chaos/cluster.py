"""A PostgreSQL of the run's own that survives crashes: stopped in every way, and started again on the same data."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

from support import role, standby
from tinkwell.server.app.dev import postgres
from tinkwell.server.database import schema


class Cluster:
    """The cluster of a state directory. Whoever restarts it holds `lock`."""

    def __init__(self, state_dir: Path, *, bin_dir: Path | None) -> None:
        self._state_dir = state_dir
        self._bin_dir = bin_dir
        self._stack = contextlib.AsyncExitStack()
        self._running: postgres.Cluster | None = None
        self.lock = asyncio.Lock()
        self.url = ""
        self.version = ""

    async def start(self) -> None:
        """Create it and the schema in it."""
        await self._start()
        await role.create_for_servers(self.url)
        await schema.upgrade(self.url, server_role=role.SERVER_ROLE)

    async def restart(self, how: signal.Signals, *, down_seconds: float) -> None:
        """Stop it, by SIGINT fast and by SIGQUIT as in a crash, and start it again after a while."""
        assert self._running is not None
        os.kill(self._running.process.pid, how)
        await self._stack.aclose()
        await asyncio.sleep(down_seconds)
        await self._start()

    async def begin_again(self) -> None:
        """Start it after it was stopped for good."""
        await self._start()

    async def follow(self, primary_url: str) -> standby.Standby:
        """Be a new standby of another cluster, in the place of whatever has been here. Raises what that raises."""
        following = await self._stack.enter_async_context(
            standby.running(primary_url, self._state_dir, bin_dir=self._bin_dir, durable=True)
        )
        self._note(following.cluster)
        return following

    async def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it for good, fast or in another way."""
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._running.process.pid, how)
        self._running = None
        await self._stack.aclose()

    async def _start(self) -> None:
        self._note(
            await self._stack.enter_async_context(
                postgres.embedded(self._state_dir, bin_dir=self._bin_dir, roles=role.ALL)
            )
        )

    def _note(self, running: postgres.Cluster) -> None:
        assert self.url in ("", running.url), "writers and servers know it by its address"
        self._running, self.url, self.version = running, running.url, running.version
