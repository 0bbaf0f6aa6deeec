"""What befalls consumers, or what they do to servers. Each returns whether it really happened."""

import asyncio
import contextlib

from support.chaos.scene import Scene
from support.history.record import FromRevision
from support.hole import Hole
from support.waiting import eventually


class ConsumerFaults:
    """Freezes consumers, slows them down, and lets them come and go."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._audience = scene.audience
        self._chance = scene.chance

    async def freeze(self) -> bool:
        """Let a consumer read nothing for a while."""
        consumer = self._audience.some()
        consumer.may_read.clear()
        try:
            await asyncio.sleep(self._scene.moment(2, 20))
        finally:
            consumer.may_read.set()
        return True

    async def slow_down(self) -> bool:
        """Let a consumer take its time for each response."""
        consumer = self._audience.some()
        consumer.delay_seconds = self._chance.uniform(0.01, 0.3)
        try:
            await asyncio.sleep(self._scene.moment(2, 10))
        finally:
            consumer.delay_seconds = 0
        return True

    async def close(self) -> bool:
        """Let somebody watch for a moment."""
        server = self._chance.choice(self._scene.servers)
        async with self._audience.visitor(self._some_start(), server):
            await asyncio.sleep(self._scene.moment(0.1, 2))
        return True

    async def silence(self) -> bool:
        """Watch through a connection that swallows everything from some moment on."""
        server = self._chance.choice(self._scene.servers)
        async with Hole(server.address).running() as hole, self._audience.visitor(self._some_start(), hole) as visitor:
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: visitor.record.reached > 0, deadline_seconds=5)
            hole.open()
            await asyncio.sleep(35 if self._scene.is_thorough else 3)
            return visitor.record.reached > 0

    async def reconnect(self) -> bool:
        """Send some consumers away, who come back where they were or somewhat earlier."""
        rewind = self._chance.choice((0, 0, 1, 100, 10_000))
        for consumer in self._chance.sample(self._audience.residents, 3):
            consumer.leave(rewind=rewind)
        return True

    def _some_start(self) -> FromRevision:
        reached = max(consumer.record.reached for consumer in self._audience.residents)
        return FromRevision(self._chance.randint(max(1, reached - 20_000), reached + 1))
