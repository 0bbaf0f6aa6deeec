"""Keeps releases changing: each is applied again, with another config, as soon as it was brought about.

prepare     address, releases, resources    replies once events are watched
run         rounds                          replies once every release has been through so many operations
"""

import asyncio
import itertools
import json
import uuid
from collections.abc import Iterator

import tinkwell.client
from bench import generator
from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType

_LONGEST_SECONDS = 240


class Source:
    """Releases, and the operation that each is at."""

    def __init__(self, client: tinkwell.client.Client, releases: int, resources: int) -> None:
        self._client = client
        self._releases = [f"release-{number}" for number in range(releases)]
        self._resources = resources
        self._ends: dict[str, asyncio.Event] = {}
        self._numbers: Iterator[int] = itertools.count()

    def call_back(self, event: Event) -> None:
        """Note the end of an operation."""
        self._ends.setdefault(event.resource_id, asyncio.Event()).set()

    async def run(self, rounds: int) -> None:
        """Take every release through so many operations; raises `TimeoutError`."""
        async with asyncio.timeout(_LONGEST_SECONDS), asyncio.TaskGroup() as group:
            for release in self._releases:
                group.create_task(self._busy(release, rounds))

    async def _busy(self, release: str, rounds: int) -> None:
        for _ in range(rounds):
            id_ = str(uuid.uuid4())
            ended = self._ends.setdefault(id_, asyncio.Event())
            await self._client.releases.apply(release, manifest=self._manifest(next(self._numbers)), id=id_)
            await ended.wait()

    def _manifest(self, number: int) -> str:
        """Return a manifest of a chain, no config of which was there before."""
        resources = {
            f"r{place}": {"type": "nothing", "config": {"number": number}}
            | ({"dependencies": {"former": f"r{place - 1}"}} if place else {})
            for place in range(self._resources)
        }
        return json.dumps({"resources": resources})


async def work(link: generator.Link) -> None:
    """Do what the messages say."""
    wanted = await link.receive()
    if wanted is None:
        return
    async with tinkwell.client.connect(wanted["address"]) as client:
        source = Source(client, wanted["releases"], wanted["resources"])
        watch = client.releases.watch(now=True, event_types=[EventType.OPERATION_SUCCEEDED])
        await watch.wait_live()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch.run(source.call_back))
            link.reply()
            while (message := await link.receive()) is not None:
                await source.run(message["rounds"])
                link.reply()
            watching.cancel()


if __name__ == "__main__":
    generator.run(work)
