"""Which machines a provisioner knows of."""

import asyncio

from support.client_conformance import machine
from support.waiting import eventually
from tinkwell import client
from tinkwell.client.testing import FakeServer
from tinkwell.provisioner.hardware.presence import Presence


async def test_machines_that_come_and_go_are_known_at_once() -> None:
    async with FakeServer() as server, client.connect(server.address) as connected:
        first, second = machine(), machine()
        second["network"] = {}
        await connected.hardware.push(first)
        present = Presence(connected)
        task = asyncio.ensure_future(present.run())
        assert await present.ids() == {first["id"]}

        async def knows(*wanted: object) -> bool:
            return await present.ids() == set(wanted)

        await connected.hardware.push(second)
        await eventually(lambda: knows(first["id"], second["id"]))
        await connected.hardware.delete(str(first["id"]))
        await eventually(lambda: knows(second["id"]))
        task.cancel()
        await asyncio.wait({task})
