"""A provisioner of releases as it is, on the Docker Engine, that says how long each call took.

`python -m bench.release.agent SERVER STATE_DIR` writes lines `called ENGINE WHOLE`, both in nanoseconds: what the
container took, from its creation to its removal, and the call as a whole, from before it is reported that it runs to
when its end is stored and its container removed.
"""

import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest import mock

from tinkwell.core.workflow import decide
from tinkwell.provisioner.app import main
from tinkwell.provisioner.release import driver, walk
from tinkwell.provisioner.release.call.step import StepRun

_see_through = walk.Walk._see_through
_in_engine: Counter[StepRun] = Counter()


def _spent(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Note what a method of a call takes."""

    async def timed(self: StepRun, *rest: Any, **more: Any) -> Any:
        began = time.perf_counter_ns()
        result = await method(self, *rest, **more)
        _in_engine[self] += time.perf_counter_ns() - began
        return result

    return timed


async def _whole(self: walk.Walk, key: Any, run: StepRun, *rest: Any) -> None:
    began = time.perf_counter_ns()
    await _see_through(self, key, run, *rest)
    print(f"called {_in_engine.pop(run)} {time.perf_counter_ns() - began}", flush=True)


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
    with (
        mock.patch.object(walk.Walk, "_see_through", _whole),
        mock.patch.object(StepRun, "start", _spent(StepRun.start)),
        mock.patch.object(StepRun, "clear", _spent(StepRun.clear)),
    ):
        asyncio.run(main.run(settings))


if __name__ == "__main__":
    run(*sys.argv[1:])
