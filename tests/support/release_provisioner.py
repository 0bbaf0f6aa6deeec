"""What a provisioner does to a release, call by call, and what it works on."""

import json
from collections.abc import Mapping, Sequence

from tinkwell.client import Client, Operation, OperationHandle, StepLogLine
from tinkwell.client.release.model import Submitted
from tinkwell.core.event.kinds import State
from tinkwell.core.release import cause
from tinkwell.core.release.kinds import NodeState, NodeTask, ResourceStatus, StepKind
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.report import (
    Call,
    FinishReport,
    NodeReport,
    RemovedReport,
    Report,
    ResourceReport,
    StepReport,
    step_id,
)

MANIFEST = """\
resources:
  role:
    type: acme/role:1
  db:
    type: acme/db:1
    dependencies: {owner: role}
    config: {size: "{{ size }}"}
"""
RENDERED = '{"plugs":{},"resources":{"role":{"type":"acme/role:1"},"db":{"type":"acme/db:1"}},"outputs":{}}'
PLAN = Plan((PlanNode(path="role"), PlanNode(path="db", batch=2, after=("role",))))
REMOVAL = Plan(
    (
        PlanNode(path="db", task=NodeTask.REMOVE),
        PlanNode(path="role", task=NodeTask.REMOVE, batch=2, after=("db",)),
    )
)


class Provisioner:
    """An owner of operations."""

    def __init__(self, client: Client, token: int) -> None:
        self.client = client
        self.token = token

    @classmethod
    async def enter(cls, client: Client, owner: str = "p1", engine: str = "docker:1") -> "Provisioner":
        """Begin a lease."""
        return cls(client, (await client.work.acquire(owner, engine)).token)

    async def report(self, operation_id: str, *reports: Report) -> Operation:
        """Report, as a group."""
        return await self.client.releases.report(operation_id, self.token, reports)

    async def submit(
        self, operation_id: str, plan: Plan = PLAN, *, manifest: str = RENDERED, has_plugs: bool = False
    ) -> Submitted:
        """Submit a plan."""
        return await self.client.releases.submit_plan(
            operation_id, self.token, manifest=manifest, late="{}", plan=plan.dump(), has_plugs=has_plugs
        )

    async def begin(self, operation_id: str, plan: Plan = PLAN) -> None:
        """Take an operation, and submit its plan."""
        await self.client.releases.acquire(operation_id, self.token)
        await self.submit(operation_id, plan)

    async def install(self, operation_id: str, path: str) -> None:
        """Let a resource be STALE, and become VALID by one action."""
        await self.report(
            operation_id,
            NodeReport(path=path, state=NodeState.INSTALLING),
            step(path, 1, StepKind.STATE, State.RUNNING),
        )
        await self.report(
            operation_id,
            step(path, 1, StepKind.STATE, State.SUCCEEDED, exit_code=0),
            step(path, 2, StepKind.ACTION, State.PENDING, attempt=0),
        )
        await self.report(operation_id, step(path, 2, StepKind.ACTION, State.RUNNING))
        await self.report(
            operation_id,
            step(path, 2, StepKind.ACTION, State.SUCCEEDED, exit_code=0),
            step(path, 3, StepKind.RECHECK, State.RUNNING),
        )
        await self.report(
            operation_id,
            step(path, 3, StepKind.RECHECK, State.SUCCEEDED, exit_code=0),
            ResourceReport(
                path=path,
                type=f"acme/{path}:1",
                status=ResourceStatus.VALID,
                image_id="sha256:1",
                config='{"size":3}',
                state='{"port":5432}',
                owned=True,
            ),
            NodeReport(path=path, state=NodeState.READY, changed=True),
        )

    async def keep(self, operation_id: str, path: str) -> None:
        """Let a resource be VALID as it is."""
        await self.report(
            operation_id,
            NodeReport(path=path, state=NodeState.INSTALLING),
            step(path, 1, StepKind.STATE, State.RUNNING),
        )
        await self.report(
            operation_id,
            step(path, 1, StepKind.STATE, State.SUCCEEDED, exit_code=0),
            NodeReport(path=path, state=NodeState.READY),
        )

    async def fail(self, operation_id: str, path: str, *lines: str) -> None:
        """Let the action of a resource print lines, and fail."""
        await self.report(
            operation_id,
            NodeReport(path=path, state=NodeState.INSTALLING),
            step(path, 1, StepKind.STATE, State.RUNNING),
        )
        await self.report(
            operation_id,
            step(path, 1, StepKind.STATE, State.SUCCEEDED, exit_code=0),
            step(path, 2, StepKind.ACTION, State.PENDING, attempt=0),
        )
        await self.report(operation_id, step(path, 2, StepKind.ACTION, State.RUNNING))
        printer = step_id(operation_id, path, 2)
        printed = [StepLogLine(printer, 1, number, text) for number, text in enumerate(lines, 1)]
        await self.client.releases.append_logs(operation_id, printed)
        await self.report(
            operation_id,
            step(path, 2, StepKind.ACTION, State.FAILED, exit_code=3, message="exited with code 3"),
            NodeReport(path=path, state=NodeState.FAILED, message="exited with code 3"),
        )

    async def fail_to_look(self, operation_id: str, path: str, *lines: str) -> None:
        """Let a resource print lines when it is asked for its state, and fail."""
        await self.report(
            operation_id,
            NodeReport(path=path, state=NodeState.INSTALLING),
            step(path, 1, StepKind.STATE, State.RUNNING),
        )
        printer = step_id(operation_id, path, 1)
        printed = [StepLogLine(printer, 1, number, text) for number, text in enumerate(lines, 1)]
        await self.client.releases.append_logs(operation_id, printed)
        await self.report(
            operation_id,
            step(path, 1, StepKind.STATE, State.FAILED, exit_code=3, message="exited with code 3"),
            NodeReport(path=path, state=NodeState.FAILED, message="state FAILED: exited with code 3"),
        )

    async def remove(self, operation_id: str, path: str) -> None:
        """Let a resource be removed."""
        await self.report(
            operation_id,
            NodeReport(path=path, state=NodeState.REMOVING),
            step(path, 1, StepKind.DESTROY, State.RUNNING),
        )
        await self.report(
            operation_id,
            step(path, 1, StepKind.DESTROY, State.SUCCEEDED, exit_code=0),
            RemovedReport(path),
            NodeReport(path=path, state=NodeState.REMOVED, changed=True),
        )

    async def finish(
        self, operation_id: str, state: State = State.SUCCEEDED, *, path: str = "", result: str = ""
    ) -> Operation:
        """End an operation."""
        reasons = {State.FAILED: cause.Reason.NODE_FAILED, State.CANCELLED: cause.Reason.CANCELLED}
        why = "" if state is State.SUCCEEDED else cause.text(reasons[state], "exited with code 3", path=path)
        return await self.report(operation_id, FinishReport(state=state, cause=why, result=result))

    async def look(self, handle: OperationHandle, result: Mapping[str, object]) -> Operation:
        """Carry a plan out that finds all as it should be, but for what the result says."""
        await self.begin(handle.id)
        for path in ("role", "db"):
            await self.keep(handle.id, path)
        return await self.finish(handle.id, result=json.dumps(result))

    async def deploy(self, handle: OperationHandle, paths: Sequence[str] = ("role", "db")) -> Operation:
        """Carry an installation out."""
        await self.begin(handle.id)
        for path in paths:
            await self.install(handle.id, path)
        return await self.finish(handle.id)

    async def uninstall(self, handle: OperationHandle) -> Operation:
        """Carry a removal of both resources out."""
        await self.begin(handle.id, REMOVAL)
        for path in ("db", "role"):
            await self.remove(handle.id, path)
        return await self.finish(handle.id)


async def apply(client: Client, name: str = "shop", **options: object) -> OperationHandle:
    """Apply the manifest."""
    return await client.releases.apply(name, files={"shop.yaml": MANIFEST}, variables={"size": 3}, **options)  # type: ignore[arg-type]


def step(
    path: str,
    ordinal: int,
    kind: StepKind,
    state: State,
    *,
    attempt: int = 1,
    exit_code: int | None = None,
    message: str = "",
) -> StepReport:
    """A report on a step."""
    call = Call(name="create" if kind is StepKind.ACTION else kind.lower(), args=("--now",))
    return StepReport(
        path=path,
        ordinal=ordinal,
        kind=kind,
        state=state,
        attempt=attempt,
        call=call,
        exit_code=exit_code,
        message=message,
    )
