"""Jobs of Procrastinate that do nothing but defer the next one, so that they come one after the other.

prepare     url, executor, lanes, actions   replies once its worker is ready
run         rounds                          replies once each lane has been through so many times all actions
"""

import asyncio
import contextlib

import procrastinate

from bench import generator

# Beside one for each job: for the fetching of jobs, the listening, and the heartbeat.
_MORE_CONNECTIONS = 3


class Chains:
    """Jobs, each of which defers the next one of its lane until there were enough."""

    def __init__(self, app: procrastinate.App, queue: str) -> None:
        self._left = 0
        self._over = asyncio.Event()
        self._task = app.task(name="action", queue=queue)(self._run)

    async def run(self, *, lanes: int, jobs: int) -> None:
        """Run so many jobs in each lane, and return when all have begun and all but the last ones have ended."""
        self._left = lanes
        self._over.clear()
        await self._task.batch_defer_async(*({"left": jobs} for _ in range(lanes)))
        await self._over.wait()

    async def _run(self, left: int) -> None:
        if left > 1:
            await self._task.defer_async(left=left - 1)
            return
        self._left -= 1
        if not self._left:
            self._over.set()


async def work(link: generator.Link) -> None:
    """Do what the messages say."""
    wanted = await link.receive()
    if wanted is None:
        return
    lanes, queue = wanted["lanes"], wanted["executor"]
    connections = lanes + _MORE_CONNECTIONS
    connector = procrastinate.PsycopgConnector(conninfo=wanted["url"], min_size=connections, max_size=connections)
    app = procrastinate.App(connector=connector)
    chains = Chains(app, queue)
    async with app.open_async():
        if wanted["first"]:
            await app.schema_manager.apply_schema_async()
        link.reply()
        working = asyncio.ensure_future(
            app.run_worker_async(queues=[queue], concurrency=lanes, install_signal_handlers=False)
        )
        while (message := await link.receive()) is not None:
            await chains.run(lanes=lanes, jobs=wanted["actions"] * message["rounds"])
            link.reply()
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working


if __name__ == "__main__":
    generator.run(work)
