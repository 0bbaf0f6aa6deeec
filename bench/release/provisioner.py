"""A provisioner of releases as it is, but for its runtime, whose calls do nothing.

`python -m bench.release.provisioner SERVER STATE_DIR CONCURRENCY`
"""

import logging
import sys
from pathlib import Path
from unittest import mock

from bench.release import noop
from tinkwell.core.workflow import decide
from tinkwell.provisioner.app import main
from tinkwell.provisioner.release import driver
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.state_dir.state_dir import StateDir


async def _open_runtime(settings: main.Settings, directory: StateDir) -> port.Runtime:
    return noop.AnsweringRuntime()


def run(server: str, state_dir: str, concurrency: str) -> None:
    """Serve the releases of all namespaces until SIGTERM. Only what says that it is ready is logged."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("tinkwell.provisioner.release.driver").setLevel(logging.INFO)
    settings = main.Settings(
        server=server,
        serves=decide.ALL_WORKERS,
        state_dir=Path(state_dir),
        releases=main.ReleaseSettings(namespaces=driver.ALL_NAMESPACES, concurrency=int(concurrency)),
    )
    with mock.patch.object(main, "open_runtime", _open_runtime):
        main.start(settings)


if __name__ == "__main__":
    run(*sys.argv[1:])
