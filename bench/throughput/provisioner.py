"""A provisioner as it is, but for its runtime, which does nothing.

`python -m bench.throughput.provisioner SERVER STATE_DIR CONCURRENCY`
"""

import logging
import sys
from pathlib import Path
from unittest import mock

from bench.throughput import noop
from tinkwell.core.workflow import decide
from tinkwell.provisioner.app import main
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.state_dir.state_dir import StateDir


async def _open_runtime(settings: main.Settings, directory: StateDir) -> port.Runtime:
    return noop.NoopRuntime()


def run(server: str, state_dir: str, concurrency: str) -> None:
    """Serve all workers until SIGTERM. Only what says that it is ready is logged, as with the server."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("tinkwell.provisioner.workflow.driver").setLevel(logging.INFO)
    settings = main.Settings(
        server=server, serves=decide.ALL_WORKERS, state_dir=Path(state_dir), concurrency=int(concurrency)
    )
    with mock.patch.object(main, "open_runtime", _open_runtime):
        main.start(settings)


if __name__ == "__main__":
    run(*sys.argv[1:])
