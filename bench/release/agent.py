"""A provisioner of releases as it is, on the Docker Engine, that says how long each call took.

`python -m bench.release.agent SERVER STATE_DIR` writes lines `called ENGINE WHOLE RUN PATH/ORDINAL`, the former in
nanoseconds: what the container took, from its creation to its removal, the call as a whole, from before it is reported
that it runs to when its end is stored and its container removed, and the container from its creation to its end. The
call is the step of this ordinal of a node. With `IMAGES` after the other arguments, a folder, calls are processes.
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
_running: Counter[StepRun] = Counter()
# More than any release has at once.
_PROCESSES = 32


def _spent(method: Callable[..., Awaitable[Any]], *counters: Counter[StepRun]) -> Callable[..., Awaitable[Any]]:
    """Count what a method of a call takes."""

    async def timed(self: StepRun, *rest: Any, **more: Any) -> Any:
        began = time.perf_counter_ns()
        result = await method(self, *rest, **more)
        for counter in counters:
            counter[self] += time.perf_counter_ns() - began
        return result

    return timed


async def _whole(self: walk.Walk, key: Any, run: StepRun, *rest: Any) -> None:
    began = time.perf_counter_ns()
    await _see_through(self, key, run, *rest)
    whole = time.perf_counter_ns() - began
    print(f"called {_in_engine.pop(run)} {whole} {_running.pop(run)} {key.path}/{key.ordinal}", flush=True)


def run(server: str, state_dir: str, images: str = "") -> None:
    """Serve the releases of all namespaces until SIGTERM."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("tinkwell.provisioner.release.driver").setLevel(logging.INFO)
    settings = main.Settings(
        server=server,
        serves=decide.ALL_WORKERS,
        state_dir=Path(state_dir),
        runtime=main.RuntimeName.PROCESS if images else main.RuntimeName.DOCKER,
        process_images=Path(images) if images else None,
        releases=main.ReleaseSettings(namespaces=driver.ALL_NAMESPACES, concurrency=_PROCESSES if images else 8),
    )
    with (
        mock.patch.object(walk.Walk, "_see_through", _whole),
        mock.patch.object(StepRun, "start", _spent(StepRun.start, _in_engine, _running)),
        mock.patch.object(StepRun, "clear", _spent(StepRun.clear, _in_engine)),
    ):
        asyncio.run(main.run(settings))


if __name__ == "__main__":
    run(*sys.argv[1:])
