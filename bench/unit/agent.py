"""An agent as `tinkwell unit run` has it, for the units of all applications of a charm.

`python -m bench.unit.agent SERVER STATE_DIR CHARM [MACHINE…]`, with the name of a class in `bench.unit.charms`
"""

import asyncio
import logging
import signal
import sys
from pathlib import Path

import tinkwell.client
from bench.unit import charms
from tinkwell.charm.agent.agent import Agent, Wanted


async def _serve(server: str, state_dir: str, charm: str, *machines: str) -> None:
    async with tinkwell.client.connect(server) as client:
        wanted = Wanted(application="", machines=machines)
        agent = Agent(client, getattr(charms, charm), wanted, Path(state_dir))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, agent.stop)
        await agent.run()


def run(*arguments: str) -> None:
    """Serve units until SIGTERM. Only what says that it is ready is logged, as with the server."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("tinkwell.client.lease.keeper").setLevel(logging.INFO)
    asyncio.run(_serve(*arguments))


if __name__ == "__main__":
    run(*sys.argv[1:])
