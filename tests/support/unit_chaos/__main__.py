"""`make chaos-units`: a run by its seed, which ends with 1 when a promise about units was broken."""

import sys

from support.chaos import command
from support.chaos.stage import Result
from support.unit_chaos import run
from support.unit_chaos.fault import Kind


async def _run(order: command.Order) -> Result[Kind]:
    return await run.run(
        run.Options(
            seed=order.seed,
            seconds=order.seconds,
            rounds=order.rounds,
            directory=order.directory,
            storms=order.more.storms,
            # A short one is to ask for as much as it can.
            pause_seconds=0.15 if order.more.storms else 0.3,
        )
    )


if __name__ == "__main__":
    storms = ("--storms", {"type": int, "default": 0, "help": "so many short ones, of --seconds each, one by one"})
    sys.exit(command.main("chaos-units", __doc__, _run, seconds=300.0, seconds_a_round=60, more=[storms]))
