"""A stage for the driver and the agent: a server and a runtime in memory, and provisioners that live and die."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Container
from typing import Any

from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld
from unit.provisioner.fake_server import CALLER, FakeServer

from support.waiting import eventually
from tinkwell.client.workflow.model import Action
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow.decide import ALL_WORKERS, RunKey
from tinkwell.provisioner.lease import keeper
from tinkwell.provisioner.workflow import driver


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


class Claims:
    """The claims of a state directory, of which everybody lives whose slot is among the living."""

    def __init__(self) -> None:
        self.slots: dict[RunKey, int] = {}
        self.living: set[int] = set()

    def of(self, slot: int) -> "SlotClaims":
        return SlotClaims(self, slot)


class SlotClaims:
    """The same, as one provisioner sees it."""

    def __init__(self, claims: Claims, slot: int) -> None:
        self._claims = claims
        self._slot = slot

    def take(self, key: RunKey) -> None:
        self._claims.slots[key] = self._slot

    def drop(self, key: RunKey) -> None:
        if self._claims.slots.get(key) == self._slot:
            del self._claims.slots[key]

    def keep_only(self, keys: Container[RunKey]) -> None:
        for key in [key for key in self._claims.slots if key not in keys]:
            self.drop(key)

    def others(self, workflow_id: str = "") -> frozenset[RunKey]:
        living = self._claims.living - {self._slot}
        return frozenset(
            key for key, slot in self._claims.slots.items() if slot in living and workflow_id in ("", key.workflow_id)
        )


class Stage:
    """A server, a world of runs, and provisioners that share it."""

    def __init__(self) -> None:
        self.server = FakeServer()
        self.world = FakeWorld()
        self.runtime = FakeRuntime(self.world)
        self.files = Files()
        self.claims = Claims()

    def make(
        self,
        *,
        serves: Container[str] = ALL_WORKERS,
        concurrency: int = 8,
        resync_seconds: float = 1000.0,
        slot: int = 0,
        engine: str = "engine",
        runtime: FakeRuntime | None = None,
    ) -> driver.Driver:
        """Make a driver in a slot."""
        return driver.Driver(
            self.server,
            runtime or self.runtime,
            self.files,
            keeper=keeper.Keeper(self.server.leases, owner=f"owner/{slot}", engine=engine),
            claims=self.claims.of(slot),
            serves=serves,
            concurrency=concurrency,
            resync_seconds=resync_seconds,
        )

    @contextlib.asynccontextmanager
    async def provisioner(self, *, slot: int = 0, **options: Any) -> AsyncIterator[driver.Driver]:
        """Run a provisioner in a slot; leaving is its death."""
        worker = self.make(slot=slot, **options)
        self.claims.living.add(slot)
        caller = CALLER.set(slot)
        task = asyncio.ensure_future(worker.run())
        CALLER.reset(caller)
        try:
            yield worker
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self.claims.living.discard(slot)

    async def run_of(self, action_id: str, attempt: int = 1, *, hook: str = "") -> FakeRun:
        """Wait until an action, or its hook, runs."""
        key = RunKey(action_id.rpartition("-")[0], action_id, attempt, hook)
        await eventually(lambda: key in self.world.runs)
        return self.world.runs[key]

    async def finish(self, action_id: str, code: int = 0, *, attempt: int = 1) -> None:
        await (await self.run_of(action_id, attempt)).exit(code)

    def token(self, slot: int = 0) -> int:
        """Return the token of who lives in a slot, or has."""
        return self.server.leases.ledger.sessions[f"owner/{slot}"].token

    async def report(self, action_id: str, worker_id: str, state: State, *, lease_token: int = 0) -> None:
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
            lease_token=lease_token,
        )

    async def reaches(self, workflow_id: str, state: State) -> None:
        await eventually(lambda: self.server.workflows.get(workflow_id) is state)

    async def is_clear(self) -> None:
        """Wait until nothing is left of any run."""
        await eventually(lambda: not self.world.runs)


def action(worker: str = "m-1", **fields: Any) -> Action:
    return Action("", worker_id=worker, task_name="task", name="step", image="image", **fields)
