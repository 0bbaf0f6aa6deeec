"""A stage for the driver and the agent: a server and a runtime in memory, and provisioners that live and die."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Container
from typing import Any

from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld
from unit.provisioner.fake_server import FakeServer

from support.waiting import eventually
from tinkwell.client import model
from tinkwell.core.decide import ALL_WORKERS, RunKey
from tinkwell.core.kind import State
from tinkwell.provisioner import driver


class Files:
    """The files of workflows, as names."""

    def __init__(self) -> None:
        self.kept: set[str] = set()
        self.boots: dict[RunKey, str] = {}
        self.is_full = False

    def workflows(self) -> list[str]:
        return sorted(self.kept)

    def forget_workflow(self, workflow_id: str) -> None:
        self.kept.discard(workflow_id)

    def note_boot(self, key: RunKey, boot_id: str) -> None:
        if self.is_full:
            raise OSError("no space left on device")
        self.boots.setdefault(key, boot_id)

    def noted_boot(self, key: RunKey) -> str:
        return self.boots.get(key, "")


class Stage:
    """A server, a world of runs, and one provisioner at a time."""

    def __init__(self) -> None:
        self.server = FakeServer()
        self.world = FakeWorld()
        self.runtime = FakeRuntime(self.world)
        self.files = Files()

    @contextlib.asynccontextmanager
    async def provisioner(
        self, *, serves: Container[str] = ALL_WORKERS, concurrency: int = 8, resync_seconds: float = 1000.0
    ) -> AsyncIterator[driver.Driver]:
        """Run a provisioner; leaving is its death."""
        worker = driver.Driver(
            self.server,
            self.runtime,
            self.files,
            serves=serves,
            concurrency=concurrency,
            resync_seconds=resync_seconds,
        )
        task = asyncio.ensure_future(worker.run())
        try:
            yield worker
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def run_of(self, action_id: str, attempt: int = 1, *, hook: str = "") -> FakeRun:
        """Wait until an action, or its hook, runs."""
        key = RunKey(action_id.rpartition("-")[0], action_id, attempt, hook)
        await eventually(lambda: key in self.world.runs)
        return self.world.runs[key]

    async def finish(self, action_id: str, code: int = 0) -> None:
        await (await self.run_of(action_id)).exit(code)

    async def report(self, action_id: str, worker_id: str, state: State) -> None:
        """Report on an action as another provisioner does."""
        await self.server.report(
            action_id.rpartition("-")[0],
            action_id=action_id,
            worker_id=worker_id,
            state=state,
            attempt=1,
            seconds=0.0,
            message="",
            exit_code=None,
        )

    async def reaches(self, workflow_id: str, state: State) -> None:
        await eventually(lambda: self.server.workflows.get(workflow_id) is state)

    async def is_clear(self) -> None:
        """Wait until nothing is left of any run."""
        await eventually(lambda: not self.world.runs)


def action(worker: str = "m-1", **fields: Any) -> model.Action:
    return model.Action("", worker_id=worker, task_name="task", name="step", image="image", **fields)
