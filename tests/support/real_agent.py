"""The product's agent for units, in the test's own process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from support.unit_server import UnitServer
from tinkwell.client.lease.keeper import Keeper
from tinkwell.provisioner.unit.agent import Agent


async def no_machines() -> frozenset[str]:
    """Serve no machine, and so only units that may be anywhere."""
    return frozenset()


@contextlib.asynccontextmanager
async def running(keeper: Keeper, agent: Agent, *, may_end: bool = False) -> AsyncIterator[asyncio.Task[Any]]:
    """Run an agent and the keeper of its lease; gives the agent's task. Neither ends by itself unless `may_end`."""
    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(keeper.run()), asyncio.create_task(agent.run())]
    try:
        yield tasks[1]
    finally:
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            assert may_end or isinstance(result, asyncio.CancelledError), result


@contextlib.asynccontextmanager
async def serving(
    server: UnitServer, path: Path, *, may_end: bool = False, **options: Any
) -> AsyncIterator[asyncio.Task[Any]]:
    """Run an agent with a server in the test's own process; `options` are of `Agent`."""
    keeper = Keeper(server, owner="o", engine="e")
    agent = Agent(
        **{"machines": no_machines, **options},
        api=server,
        storages=server.storages_in,
        history=server.history,
        lease=keeper,
        path=path,
    )
    async with running(keeper, agent, may_end=may_end) as task:
        yield task
