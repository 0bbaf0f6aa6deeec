"""Print what happens to machines and workflows, beginning five minutes ago.

    python examples/watch/watch.py [--server localhost:50051] [--count N]

The watch reconnects by itself and resumes after the last event it handed out.
"""

import argparse
import asyncio

import tinkwell.client


async def main(server: str, count: int | None) -> None:
    """Print events, `count` of them or until interrupted."""
    async with tinkwell.client.connect(server) as client:
        async for event in client.events.watch(since=300, resource_types=["HARDWARE", "WORKFLOW"]):
            print(f"{event.revision:>8}  {event.name:<22} {event.resource_id}", flush=True)
            if count is not None and (count := count - 1) <= 0:
                return


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="localhost:50051")
    parser.add_argument("--count", type=int, help="end after so many events")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.server, arguments.count))
