"""What befalls PostgreSQL and servers as processes. Each returns whether it really happened."""

import signal

from support.chaos.scene import Scene

# Longer than the bell session may be idle, so that the bell is taken from the frozen server.
_BELL_LOST_SECONDS = 17.0


class ProcessFaults:
    """Stops, kills and freezes."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._chance = scene.chance

    async def restart(self, how: signal.Signals) -> bool:
        """Restart PostgreSQL, by SIGINT fast and by SIGQUIT as in a crash."""
        async with self._scene.pair.lock:
            await self._scene.pair.restart(how, down_seconds=self._scene.moment(0, 1))
        return True

    async def kill_server(self) -> bool:
        """Kill a server, with its workers or without."""
        async with self._scene.some_server() as server:
            await server.kill(down_seconds=self._scene.moment(0, 2), is_whole=self._chance.random() < 0.5)
        return True

    async def kill_worker(self) -> bool:
        """Kill a worker of a server."""
        async with self._scene.some_server() as server:
            return server.kill_worker(self._chance)

    async def stop_server(self) -> bool:
        """Ask a server to end."""
        async with self._scene.some_server() as server:
            await server.terminate(down_seconds=self._scene.moment(0, 2))
        return True

    async def freeze_server(self) -> bool:
        """Stop a server for a while, now and then until it has lost the bell."""
        is_long = self._scene.is_thorough and self._chance.random() < 0.2
        async with self._scene.some_server() as server:
            seconds = _BELL_LOST_SECONDS if is_long else self._scene.moment(1, 5)
            await server.freeze(seconds=seconds, chance=self._chance)
        return True
