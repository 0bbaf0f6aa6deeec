"""An agent of a charm looks after the units that went while its stream of wakes was away."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import tinkwell.client
from support.waiting import eventually
from tinkwell import charm
from tinkwell.charm import description
from tinkwell.charm.agent.agent import Agent, Wanted
from tinkwell.client import testing
from tinkwell.client.testing.gate import ReceivedCall

heard: list[str] = []


class Slow(charm.Charm):
    """Never comes to the end of its install."""

    @charm.on.install
    async def install(self, event: charm.Install) -> None:
        heard.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            heard.append("ended")


async def test_handlers_of_a_unit_that_went_meanwhile_are_ended(tmp_path: Path) -> None:
    heard.clear()
    async with testing.FakeServer() as server, tinkwell.client.connect(server.address) as client:
        await client.applications.deploy("slow", description.pack(Slow), anywhere=True)
        agent = Agent(client, Slow, Wanted(application="slow"), tmp_path, look_seconds=0.01)
        serving = asyncio.create_task(agent.run())
        await eventually(lambda: heard == ["begun"])

        async def remove_first(call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
            if call.method == "WatchUnits":
                server.gate.around = None
                await client.applications.remove_unit("slow/0", force=True)
            return await answer()

        server.gate.around = remove_first
        await server.stop()
        await server.start()
        await eventually(lambda: heard == ["begun", "ended"])
        agent.stop()
        await serving
