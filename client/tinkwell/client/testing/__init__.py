"""A server for tests of your own automation: real gRPC on a free port, everything in memory, faults on demand.

    async with testing.FakeServer() as server, tinkwell.client.connect(server.address) as client:
        workflow = server.put(Workflow(id="…", state=State.RUNNING))
        automation = asyncio.create_task(react_to_timeouts(client))
        server.put(dataclasses.replace(workflow, state=State.TIMEOUT))

A script that uses the blocking client runs beside it in a thread: `await asyncio.to_thread(script, server.address)`.
"""

from tinkwell.client.testing.server import FakeServer

__all__ = ["FakeServer"]
