"""A server for tests of one's own automation: real gRPC on a free port, everything in memory, faults on demand.

async with testing.FakeServer() as server, tinkwell.client.connect(server.address) as client:
    workflow = server.put(Workflow(id="…", state=State.RUNNING))
    automation = asyncio.create_task(react_to_timeouts(client))
    server.put(dataclasses.replace(workflow, state=State.TIMEOUT))
"""

from tinkwell.client.testing.server import FakeServer

__all__ = ["FakeServer"]
