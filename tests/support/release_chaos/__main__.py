"""`make chaos-releases`: a run by its seed, which ends with 1 when a promise about releases was broken."""

import sys

from support.chaos import command
from support.chaos.stage import Result
from support.release_chaos import run
from support.release_chaos.fault import Kind

_OPTIONS = (("--releases", {"type": int, "default": None, "help": "how many; by default 100 in five minutes"}),)


async def _run(order: command.Order) -> Result[Kind]:
    return await run.run(
        run.Options(
            seed=order.seed,
            seconds=order.seconds,
            rounds=order.rounds,
            directory=order.directory,
            output=order.output,
            releases=order.more.releases or max(10, round(order.seconds / 3)),
            is_kept=order.is_kept,
        )
    )


if __name__ == "__main__":
    sys.exit(command.main("chaos-releases", __doc__, _run, seconds=300.0, seconds_a_round=30, more=_OPTIONS))
