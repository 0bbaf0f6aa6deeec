"""A provisioner of releases as it is, on the Docker Engine, that says when each call began and ended here.

`python -m bench.release.agent SERVER STATE_DIR` writes lines `called BEGAN ENDED`, both by the clock that all processes
share: a call begins before it is reported that it runs, and has ended when its end is stored and its container removed.
"""

import asyncio
import logging
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

from tinkwell.core.workflow import decide
from tinkwell.provisioner.app import main
from tinkwell.provisioner.release import driver, walk

_see_through = walk.Walk._see_through


async def _timed(self: walk.Walk, *rest: Any) -> None:
    began = time.time_ns()
    await _see_through(self, *rest)
    print(f"called {began} {time.time_ns()}", flush=True)


def run(server: str, state_dir: str) -> None:
    """Serve the releases of all namespaces until SIGTERM."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("tinkwell.provisioner.release.driver").setLevel(logging.INFO)
    settings = main.Settings(
        server=server,
        serves=decide.ALL_WORKERS,
        state_dir=Path(state_dir),
        runtime=main.RuntimeName.DOCKER,
        releases=main.ReleaseSettings(namespaces=driver.ALL_NAMESPACES),
    )
    with mock.patch.object(walk.Walk, "_see_through", _timed):
        asyncio.run(main.run(settings))


if __name__ == "__main__":
    run(*sys.argv[1:])
