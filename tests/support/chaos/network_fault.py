"""What befalls the network between servers and their database: it swallows, and neither end is told of an end."""

import asyncio

from support.chaos.scene import Scene


class NetworkFaults:
    """Swallows what goes through the doors. Each returns whether it really happened."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._chance = scene.chance

    async def swallow(self, *, is_wide: bool) -> bool:
        """Swallow one connection of a server to the primary, or all of them, for a while."""
        server = self._chance.choice(self._scene.servers)
        async with self._scene.swallowing[server.name]:
            host = self._scene.pair.primary
            if not await self._scene.gateway.swallow(server.name, host, is_wide=is_wide):
                return False
            try:
                await asyncio.sleep(self._seconds())
            finally:
                await self._scene.gateway.relent(server.name, host, is_cut=self._chance.random() < 0.5)
        return True

    def _seconds(self) -> float:
        """Draw less than any patience, or more than that of sessions which read the log."""
        is_long = self._scene.is_thorough and self._chance.random() < 0.3
        return self._scene.moment(12, 20) if is_long else self._scene.moment(1, 8)
