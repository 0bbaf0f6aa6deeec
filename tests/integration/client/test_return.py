"""Whoever follows a server that was away is back soon after it is ready, however long that took."""

import asyncio

import tinkwell.client
from support import server as servers
from support.waiting import eventually

MACHINE = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
WATCHERS, INFORMERS = 15, 5
# So long that pauses which grow with time have grown.
AWAY_SECONDS = 5.0
# Two seconds is what is promised; the rest is for a machine with other things to do.
BACK_SECONDS = 4.0


async def test_watches_and_informers_are_back_within_seconds_of_a_servers_readiness(database_url: str) -> None:
    clients = []
    back: list[None] = []
    tasks = []
    try:
        async with servers.running(database_url) as first:
            port = int(first.address.rsplit(":", 1)[1])
            clients = [tinkwell.client.connect(first.address) for _ in range(WATCHERS + INFORMERS)]
            for client in clients[:WATCHERS]:
                watch = client.events.watch(now=True, on_created=lambda _: back.append(None))
                tasks.append(asyncio.create_task(watch.run(lambda _: None)))
            informers = [client.hardware.informer() for client in clients[WATCHERS:]]
            tasks += [asyncio.create_task(informer.run()) for informer in informers]
            await eventually(lambda: len(back) == WATCHERS and all(informer.has_synced for informer in informers))
        await asyncio.sleep(AWAY_SECONDS)
        async with servers.running(database_url, port=port) as second, tinkwell.client.connect(second.address) as other:
            await other.hardware.push({"id": MACHINE})
            await eventually(
                lambda: len(back) == 2 * WATCHERS and all(informer.get(MACHINE) for informer in informers),
                deadline_seconds=BACK_SECONDS,
            )
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for client in clients:
            await client.close()
