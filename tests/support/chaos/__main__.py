"""`make chaos-log`: a long run, by its seed, which ends with 1 when a promise was broken."""

import sys

from support.chaos import command, run


async def _run(order: command.Order) -> run.Result:
    return await run.run(
        run.Options(order.seed, order.seconds, order.rounds, order.directory, order.output, order.is_kept)
    )


if __name__ == "__main__":
    sys.exit(command.main("chaos", __doc__, _run, seconds=600.0, seconds_a_round=60))
