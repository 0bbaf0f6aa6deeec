"""`make chaos-units`: a run by its seed, which ends with 1 when a promise about units was broken."""

import sys

from support.chaos import command
from support.chaos.stage import Result
from support.unit_chaos import run
from support.unit_chaos.fault import Kind


async def _run(order: command.Order) -> Result[Kind]:
    return await run.run(
        run.Options(seed=order.seed, seconds=order.seconds, rounds=order.rounds, directory=order.directory)
    )


if __name__ == "__main__":
    sys.exit(command.main("chaos-units", __doc__, _run, seconds=300.0, seconds_a_round=60))
