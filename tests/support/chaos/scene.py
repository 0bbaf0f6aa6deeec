"""All that faults can befall."""

import asyncio
import contextlib
import dataclasses
import random
from collections.abc import AsyncIterator, Sequence

from support.chaos import session
from support.chaos.audience import Audience
from support.chaos.chronicle import Chronicle
from support.chaos.forgetting import Forgetting
from support.chaos.gate import Gate
from support.chaos.gateway import Gateway
from support.chaos.ledger import Ledger
from support.chaos.pair import Pair
from support.chaos.server import Server
from support.waiting import eventually

# Nobody who changes resources is in a transaction: neither writers nor requests of theirs that servers still have.
_IS_BUSY = """
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
       AND (application_name LIKE 'chaos%' OR application_name = 'tinkwell')
"""
_QUIET_SECONDS = 60
# What a moment of a short run is to one of a long run.
_SHORT_SHARE = 0.3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scene:
    """What there is. `is_thorough` is for runs that have time for faults which last longer than a minute's test does.

    Locks are taken in this order: the pair's, the chronicle's, the servers' in their order, those of `swallowing`, by
    the servers' names, which keep their connections from being swallowed; the gate is closed last.
    """

    pair: Pair
    servers: Sequence[Server]
    audience: Audience
    ledger: Ledger
    chronicle: Chronicle
    forgetting: Forgetting
    gate: Gate
    gateway: Gateway
    chance: random.Random
    is_thorough: bool
    swallowing: dict[str, asyncio.Lock] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "swallowing", {server.name: asyncio.Lock() for server in self.servers})

    def moment(self, low: float, high: float) -> float:
        """Draw some seconds, fewer where there is no time for more."""
        share = 1.0 if self.is_thorough else _SHORT_SHARE
        return self.chance.uniform(low * share, high * share)

    @contextlib.asynccontextmanager
    async def some_server(self) -> AsyncIterator[Server]:
        """Choose a server that runs, and keep others from injuring it."""
        server = self.chance.choice(self.servers)
        async with server.lock:
            await server.ready.wait()
            yield server

    @contextlib.asynccontextmanager
    async def silence(self) -> AsyncIterator[None]:
        """Keep everybody from writing; what was begun has ended, and nothing of it comes later.

        Raises `TimeoutError` when that takes too long, and what a lost session raises.
        """
        async with contextlib.AsyncExitStack() as stack:
            # A frozen server might write later, and so might one whose connections are swallowed.
            for server in self.servers:
                await stack.enter_async_context(server.lock)
            for lock in self.swallowing.values():
                await stack.enter_async_context(lock)
            await stack.enter_async_context(self.gate.closed())
            async with session.connected(self.pair.url) as connection:

                async def is_quiet() -> bool:
                    return not await connection.fetchval(_IS_BUSY)

                await eventually(is_quiet, deadline_seconds=_QUIET_SECONDS, interval_seconds=0.05)
            yield
