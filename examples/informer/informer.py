"""Keep a live copy of all workflows, and say how many are in which state whenever that changes.

    python examples/informer/informer.py [--server localhost:50051] [--until-finished N]

An informer watches first and lists then, so that nothing falls in between; where the server has forgotten events, it
lists again by itself.
"""

import argparse
import asyncio
from collections import Counter

import tinkwell.client
from tinkwell.client import Event, Workflow


async def main(server: str, until_finished: int | None) -> None:
    """Print the counts until interrupted, or until so many workflows are finished."""
    enough = asyncio.Event()
    async with tinkwell.client.connect(server) as client:
        informer = client.workflows.informer()

        def show(event: Event, old: Workflow | None, new: Workflow | None) -> None:
            # Events of actions reach handlers too, without a workflow of before and after.
            if old is None and new is None:
                return
            states = Counter(str(workflow.state) for workflow in informer.items())
            print(
                f"{event.name:<22}",
                ", ".join(f"{count} {state}" for state, count in sorted(states.items())),
                flush=True,
            )
            finished = sum(workflow.state.is_final for workflow in informer.items())
            if until_finished is not None and finished >= until_finished:
                enough.set()

        informer.on(None, show)
        running = asyncio.create_task(informer.run())
        waiting = asyncio.create_task(enough.wait())
        await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        running.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="localhost:50051")
    parser.add_argument("--until-finished", type=int, help="end when so many workflows are finished")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.server, arguments.until_finished))
