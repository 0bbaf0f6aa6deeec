"""Keeps machines busy with workflows: each gets the next one when its last one has succeeded.

prepare     address, machines, actions      replies once machines and template are there and events are watched
run         rounds                          replies once every machine has been through so many workflows
"""

import asyncio
import uuid

import tinkwell.client
from bench import generator
from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType

_LONGEST_SECONDS = 240
_TASK = """\
version: "0.1"
name: throughput
tasks:
  - name: all
    worker: "{{.device_1}}"
    actions:
"""


class Source:
    """Machines, and the workflow that each is at."""

    def __init__(self, client: tinkwell.client.Client, machines: list[str], template: str) -> None:
        self._client = client
        self._machines = machines
        self._template = template
        self._ends: dict[str, asyncio.Event] = {}

    def call_back(self, event: Event) -> None:
        """Note the end of a workflow."""
        self._ends.setdefault(event.resource_id, asyncio.Event()).set()

    async def run(self, rounds: int) -> None:
        """Take every machine through so many workflows; raises `TimeoutError`."""
        async with asyncio.timeout(_LONGEST_SECONDS), asyncio.TaskGroup() as group:
            for machine in self._machines:
                group.create_task(self._busy(machine, rounds))

    async def _busy(self, machine: str, rounds: int) -> None:
        for _ in range(rounds):
            created = await self._client.workflows.create(self._template, {"device_1": machine})
            await self._ends.setdefault(created.id, asyncio.Event()).wait()


def template(actions: int) -> str:
    """Return a template of one task with so many actions."""
    return _TASK + "".join(f"      - name: action-{place}\n        image: nothing\n" for place in range(actions))


async def work(link: generator.Link) -> None:
    """Do what the messages say."""
    wanted = await link.receive()
    if wanted is None:
        return
    async with tinkwell.client.connect(wanted["address"]) as client:
        machines = [str(uuid.uuid4()) for _ in range(wanted["machines"])]
        for machine in machines:
            await client.hardware.push({"id": machine})
        created = await client.templates.create(template(wanted["actions"]))
        source = Source(client, machines, created.id)
        watch = client.workflows.watch(now=True, event_types=[EventType.WORKFLOW_SUCCEEDED])
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
