"""A stage for the driver and the agent: a server and a runtime in memory, and provisioners that live and die."""

import asyncio
import collections
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Container
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld

from support.together import together
from support.waiting import eventually
from tinkwell import client
from tinkwell.api.v1 import work_service_pb2
from tinkwell.client import testing
from tinkwell.client.lease import keeper
from tinkwell.client.testing.clock import Clock
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.client.testing.lease import Ledger
from tinkwell.client.testing.workflow import report
from tinkwell.client.workflow import message
from tinkwell.client.workflow.model import Action, LogLine, Workflow
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.core.workflow.decide import ALL_WORKERS
from tinkwell.provisioner.workflow import driver

# So many seconds of the server pass in one, so that limits and delays, which are whole seconds, take tenths of one.
SPEED = 10.0


class Server(testing.FakeServer):
    """The fake server, with what tests of a provisioner do to it and ask of it most."""

    def __init__(self) -> None:
        super().__init__(clock=Clock(source=asyncio.get_running_loop().time))
        self.clock.run(SPEED)
        self.gate.around = self.pass_through
        self.leases = Leases(self)
        # No call comes through, or none of the provisioners in these slots.
        self.is_away = False
        self.cut: set[int] = set()
        self.takes_logs = asyncio.Event()
        self.takes_logs.set()
        # While it is not set, whoever asks whether a deadline is past waits for the answer.
        self.takes_questions = asyncio.Event()
        self.takes_questions.set()
        # So many reports are taken, and nobody hears of it.
        self.loses_answers = 0
        # Is told of each call, and of each report, before it is answered; what it raises is the answer.
        self.on_call: Callable[[ReceivedCall], Awaitable[None]] | None = None
        # What reports changed, and the workflows whose start was refused since another one has their machine.
        self.reports: list[tuple[str, State]] = []
        self.refused_starts: list[str] = []

    def add_workflow(self, workflow_id: str, *actions: Action, **fields: Any) -> None:
        """Add a workflow, younger than all others; each action is named after its index."""
        born = datetime.fromtimestamp(len(self.workflows), UTC)
        self.put(Workflow(workflow_id, total_actions=len(actions), created_at=born, **fields))
        for index, each in enumerate(actions):
            self.put(replace(each, id=f"{workflow_id}-{index}", workflow_id=workflow_id, index=index))

    def cancel(self, workflow_id: str) -> None:
        report.cancel(self.world, self.world.find(Workflow, workflow_id), "enough")

    def expire(self, workflow_id: str) -> None:
        """End what has a deadline that is past, as if somebody else had asked for it."""
        report.expire(self.world, workflow_id, deadlines_only=False)

    def delete(self, workflow_id: str) -> None:
        workflow = self.world.find(Workflow, workflow_id)
        if not workflow.state.is_final:
            self.cancel(workflow_id)
        self.remove(workflow)

    def notify(self, workflow_id: str, event_type: EventType) -> None:
        """Send an event of a workflow, though nothing has changed."""
        self.emit(event_type, ResourceType.WORKFLOW, resource_id=workflow_id, version=2)

    def lose_history(self) -> None:
        """End every watch with the news that events were missed."""
        self.change_history()

    @property
    def workflows(self) -> dict[str, State]:
        """The states of all workflows."""
        return {workflow.id: workflow.state for workflow in self.world.all(Workflow)}

    @property
    def rows(self) -> dict[str, list[Action]]:
        """The actions of all workflows."""
        return {workflow_id: self.world.actions_of(workflow_id) for workflow_id in self.workflows}

    def states(self, workflow_id: str) -> list[State]:
        return [action.state for action in self.world.actions_of(workflow_id)]

    @property
    def lines(self) -> dict[str, list[LogLine]]:
        """The output of all actions, in the order in which it came."""
        found: dict[str, list[LogLine]] = {}
        for line in (line for lines in self.world.lines.values() for line in lines):
            found.setdefault(line.action_id, []).append(line)
        return found

    def texts(self, action_id: str) -> list[str]:
        return [line.text for line in self.lines.get(action_id, [])]

    @property
    def batches(self) -> list[int]:
        """How many lines came by each call."""
        return [len(request.lines) for request in self.requests("AppendLogs")]

    @property
    def lists(self) -> int:
        """How often all unfinished workflows were listed."""
        return len(self.requests("ListUnfinishedWorkflows"))

    @property
    def looks(self) -> collections.Counter[str]:
        """How often each workflow was asked about."""
        return collections.Counter(request.id for request in self.requests("GetWorkflowContext"))

    @property
    def together(self) -> list[list[tuple[str, State]]]:
        """What came by each call for several reports."""
        return [list(map(_said, request.reports)) for request in self.requests("ReportActionStatuses")]

    async def pass_through(self, call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
        """Answer a call, unless the test does not want it."""
        if self.is_away or call.metadata.get("x-tinkwell-actor") in [_actor(slot) for slot in self.cut]:
            raise errors.Unavailable("the line is cut")
        if self.on_call is not None:
            await self.on_call(call)
        match call.method:
            case "AppendLogs":
                await self.takes_logs.wait()
            case "ExpireWorkflow":
                await self.takes_questions.wait()
            case "Release" if self.leases.loses_releases and call.request.workflow_id:
                return work_service_pb2.ReleaseResponse()
            case "Renew":
                self.leases.renewals += 1
            case "Release" if call.request.workflow_id:
                self.leases.released.append(call.request.workflow_id)
            case "ReportActionStatus":
                return await self._report(call.request, answer)
        return await answer()

    async def _report(self, request: Any, answer: Callable[[], Awaitable[Any]]) -> Any:
        try:
            response = await answer()
        except errors.MachineBusy:
            self.refused_starts.append(request.workflow_id)
            raise
        if response.revision:
            self.reports.append(_said(request))
        if self.loses_answers:
            self.loses_answers -= 1
            raise errors.Unavailable("the line was cut")
        return response


class Leases:
    """What tests do to the leases of a server, and ask of them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        # Releases are lost, as when their sender dies before.
        self.loses_releases = False
        # What came through: renewals, and the workflows whose machines were released.
        self.renewals = 0
        self.released: list[str] = []

    @property
    def ledger(self) -> Ledger:
        return self._server.world.ledger

    @property
    def seconds(self) -> float:
        """How long a lease lives that is not renewed."""
        return self._server.world.lease_seconds

    @seconds.setter
    def seconds(self, seconds: float) -> None:
        self._server.world.lease_seconds = seconds

    def expire(self, owner: str) -> None:
        """Let the lease of an owner be over, as if it had not been heard of."""
        self.ledger.expire(self.ledger.sessions[owner].token)


def said(call: ReceivedCall) -> tuple[str, State] | None:
    """Return of which action a call reports what; None where it is no report."""
    return _said(call.request) if call.method == "ReportActionStatus" else None


def _said(request: Any) -> tuple[str, State]:
    return request.action_id, message.report(request).state


def _actor(slot: int) -> str:
    return f"slot-{slot}"


class Files:
    """The files of workflows, as names."""

    def __init__(self) -> None:
        self.kept: set[str] = set()
        self.boots: dict[RunKey, str] = {}
        self.documents: dict[tuple[str, str], bytes] = {}  # by workflow and worker
        self.is_full = False

    def workflow_dir(self, workflow_id: str, worker_id: str) -> Path:
        return Path("/files", workflow_id, worker_id)

    def bring_document(self, workflow_id: str, worker_id: str, *, content: bytes | None) -> None:
        if self.is_full:
            raise OSError(28, "No space left on device")
        known = self.documents.get((workflow_id, worker_id), b"{}")
        self.documents[workflow_id, worker_id] = known if content is None else content

    def document_size(self, workflow_id: str, worker_id: str) -> int | None:
        known = self.documents.get((workflow_id, worker_id))
        return None if known is None else len(known)

    def read_document(self, workflow_id: str, worker_id: str, *, max_bytes: int) -> bytes | None:
        return self.documents.get((workflow_id, worker_id), b"")[: max_bytes + 1]

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

    def has(self, key: RunKey) -> bool:
        return self._claims.slots.get(key) == self._slot

    def lift(self, kind: RunKind, owner: str, *, needed: Container[RunKey]) -> None:
        for key in [key for key in self._claims.slots if (key.kind, key.owner) == (kind, owner) and key not in needed]:
            del self._claims.slots[key]

    def keep_only(self, kind: RunKind, keys: Container[RunKey]) -> None:
        for key in [key for key in self._claims.slots if key.kind is kind and key not in keys]:
            self.drop(key)

    def others(self, kind: RunKind, owner: str = "") -> frozenset[RunKey]:
        living = self._claims.living - {self._slot}
        claimed = (key for key, slot in self._claims.slots.items() if slot in living)
        return frozenset(key for key in claimed if key.kind is kind and owner in ("", key.owner))


class Stage:
    """A server, a world of runs, and provisioners that share it; an async context manager."""

    def __init__(self) -> None:
        self.server = Server()
        self.world = FakeWorld()
        self.runtime = FakeRuntime(self.world)
        self.files = Files()
        self.claims = Claims()

    async def __aenter__(self) -> Self:
        await self.server.start()
        self.operator = client.connect(self.server.address)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.operator.close()
        await self.server.stop()

    def connect(self, slot: int = 0) -> client.Client:
        """Make the client of a provisioner in a slot."""
        return client.connect(self.server.address, actor=_actor(slot))

    def make(
        self,
        server: client.Client,
        *,
        serves: Container[str] = ALL_WORKERS,
        concurrency: int = 8,
        resync_seconds: float = 1000.0,
        slot: int = 0,
        engine: str = "engine",
        runtime: FakeRuntime | None = None,
    ) -> tuple[driver.Driver, keeper.Keeper]:
        """Make a driver in a slot, and the keeper of its lease."""
        lease = keeper.Keeper(server.work, owner=f"owner/{slot}", engine=engine)
        worker = driver.Driver(
            server.workflows,
            runtime or self.runtime,
            self.files,
            keeper=lease,
            claims=self.claims.of(slot),
            serves=serves,
            concurrency=concurrency,
            resync_seconds=resync_seconds,
        )
        return worker, lease

    @contextlib.asynccontextmanager
    async def provisioner(self, *, slot: int = 0, **options: Any) -> AsyncIterator[driver.Driver]:
        """Run a provisioner in a slot; leaving is its death."""
        async with self.connect(slot) as server:
            worker, lease = self.make(server, slot=slot, **options)
            self.claims.living.add(slot)
            task = asyncio.ensure_future(together(worker.run, lease.run))
            try:
                yield worker
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                self.claims.living.discard(slot)

    async def run_of(self, action_id: str, attempt: int = 1, *, hook: str = "") -> FakeRun:
        """Wait until an action, or its hook, runs."""
        key = key_of(action_id, attempt, hook=hook)
        await eventually(lambda: key in self.world.runs)
        return self.world.runs[key]

    async def finish(self, action_id: str, code: int = 0, *, attempt: int = 1) -> None:
        await (await self.run_of(action_id, attempt)).exit(code)

    def token(self, slot: int = 0) -> int:
        """Return the token of who lives in a slot, or has."""
        return self.server.leases.ledger.sessions[f"owner/{slot}"].token

    async def report(self, action_id: str, worker_id: str, state: State, *, lease_token: int = 0) -> None:
        """Report on an action as another provisioner does."""
        await self.operator.workflows.report(
            action_id.rpartition("-")[0],
            action_id=action_id,
            worker_id=worker_id,
            state=state,
            attempt=1,
            lease_token=lease_token,
        )

    async def rest(self) -> None:
        """Wait until nobody has anything to ask of the server: no call comes while some others come and go."""
        before = -1
        while before != (before := len(self.server.calls) - len(self.server.requests("Check"))):
            for _ in range(5):
                await self.operator.wait_ready()

    async def has_begun(self) -> None:
        """Wait until the provisioner knows what there is, so that it hears of anything else by its events alone."""
        await eventually(lambda: self.server.lists > 0)
        await self.rest()

    async def reaches(self, workflow_id: str, state: State) -> None:
        await eventually(lambda: self.server.workflows.get(workflow_id) is state)

    async def is_clear(self) -> None:
        """Wait until nothing is left of any run."""
        await eventually(lambda: not self.world.runs)


def key_of(action_id: str, attempt: int = 1, *, hook: str = "") -> RunKey:
    """Return the key of an attempt at an action, or of its hook."""
    return RunKey(RunKind.WORKFLOW, action_id.rpartition("-")[0], action_id, attempt, hook)


def action(worker: str = "m-1", **fields: Any) -> Action:
    return Action("", worker_id=worker, task_name="task", name="step", image="image", **fields)
