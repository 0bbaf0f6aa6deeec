"""A provisioner as it is, on the Docker Engine, that says when each action began and ended here.

`python -m bench.container.agent SERVER STATE_DIR CONCURRENCY` writes lines `ran BEGAN ENDED`, both by the clock that
all processes share: an action begins before the report that it runs, and has ended when its end was reported and its
container is removed.
"""

import asyncio
import logging
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

from tinkwell.core.workflow import decide
from tinkwell.provisioner.agent.job import Job
from tinkwell.provisioner.app import main
from tinkwell.provisioner.workflow import runner

_run = runner.Runner._run


async def _timed(self: runner.Runner, job: Job, *rest: Any, adopts: bool) -> bool:
    began = time.time_ns()
    looks_again = await _run(self, job, *rest, adopts=adopts)
    print(f"ran {began} {time.time_ns()}", flush=True)
    return looks_again


def run(server: str, state_dir: str, concurrency: str) -> None:
    """Serve all workers until SIGTERM."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("tinkwell.provisioner.workflow.driver").setLevel(logging.INFO)
    settings = main.Settings(
        server=server,
        serves=decide.ALL_WORKERS,
        state_dir=Path(state_dir),
        concurrency=int(concurrency),
        runtime=main.RuntimeName.DOCKER,
    )
    with mock.patch.object(runner.Runner, "_run", _timed):
        asyncio.run(main.run(settings))


if __name__ == "__main__":
    run(*sys.argv[1:])
