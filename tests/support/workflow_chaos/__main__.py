"""`make chaos-workflows`: a run by its seed, which ends with 1 when a promise about workflows was broken."""

import sys

from support.chaos import command
from support.chaos.stage import Result
from support.workflow_chaos import run
from support.workflow_chaos.fault import Kind

_OPTIONS = (
    ("--workflows", {"type": int, "default": None, "help": "how many; by default 200 in five minutes"}),
    ("--provisioners", {"type": int, "default": 3, "help": "how many share a state directory"}),
)


async def _run(order: command.Order) -> Result[Kind]:
    return await run.run(
        run.Options(
            seed=order.seed,
            seconds=order.seconds,
            rounds=order.rounds,
            directory=order.directory,
            output=order.output,
            workflows=order.more.workflows or max(10, round(order.seconds / 1.5)),
            provisioners=order.more.provisioners,
            is_kept=order.is_kept,
        )
    )


if __name__ == "__main__":
    sys.exit(command.main("chaos-workflows", __doc__, _run, seconds=300.0, seconds_a_round=30, more=_OPTIONS))
