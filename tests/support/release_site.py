"""The release service over a real channel, operations that tests carry out by hand, and the events that this causes."""

import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import grpc.aio

from support import edge, role
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.api.v1 import (
    release_service_pb2_grpc,
    work_service_pb2,
    work_service_pb2_grpc,
)
from tinkwell.api.v1 import workflow_service_pb2 as workflow_pb
from tinkwell.core.release.report import step_id
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.lease.api.servicer import OPERATION, WORKFLOW, WorkServicer
from tinkwell.server.lease.service.operations import Holder, LeaseService
from tinkwell.server.release.api.servicer import ReleaseServicer
from tinkwell.server.release.service.operation_hold import OperationHolds
from tinkwell.server.release.service.operations import ReleaseService
from tinkwell.server.release.service.output import StepLogs
from tinkwell.server.secret.keys import Keys
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.workflow.service.machine_hold import MachineHolds

# Longer than any test: leases are over when a test says so.
LEASE_SECONDS = 600.0
UNKNOWN = "00000000-0000-4000-8000-000000000000"

PENDING = workflow_pb.STATE_PENDING
RUNNING = workflow_pb.STATE_RUNNING
SUCCEEDED = workflow_pb.STATE_SUCCEEDED
FAILED = workflow_pb.STATE_FAILED
TIMEOUT = workflow_pb.STATE_TIMEOUT
CANCELLED = workflow_pb.STATE_CANCELLED

CAUSE = json.dumps({"reason": "NODE_FAILED", "message": "it has failed", "path": "db"})


class _NoWatches:
    """Stands for the watches, which these tests leave alone."""

    def stream(self, *args: object, **kwargs: object) -> Any:
        raise AssertionError("nobody watches here")


def manifest(*names: str, **config: object) -> str:
    """A manifest of resources of these names, each after the one before; JSON is YAML, too."""
    resources = {
        name: {"type": f"image-of-{name}", "config": config} | ({"dependencies": {"former": before}} if before else {})
        for before, name in zip(("", *names), names, strict=False)
    }
    return json.dumps({"resources": resources})


def plan(*names: str, removed: Sequence[str] = ()) -> str:
    """A plan that installs resources of these names, each after the one before, and then removes others."""
    nodes = [
        {"path": name, "kind": "RESOURCE", "task": task, "batch": batch, "after": [before] if before else []}
        for batch, (before, name, task) in enumerate(
            zip(
                ("", *names, *removed),
                (*names, *removed),
                ["INSTALL"] * len(names) + ["REMOVE"] * len(removed),
                strict=False,
            ),
            1,
        )
    ]
    return json.dumps({"format": 1, "nodes": nodes})


def phase(found: pb.OperationPhase.ValueType) -> pb.OperationReport:
    """A report that an operation is in a phase."""
    return pb.OperationReport(phase=found)


def node(path: str, state: str, **more: Any) -> pb.OperationReport:
    """A report about a node."""
    return pb.OperationReport(node=pb.NodeReport(path=path, state=pb.NodeState.Value(f"NODE_STATE_{state}"), **more))


def step(
    path: str, ordinal: int, kind: str, state: workflow_pb.State.ValueType, *, attempt: int = 1, **more: Any
) -> pb.OperationReport:
    """A report about a step."""
    number = pb.StepKind.Value(f"STEP_KIND_{kind}")
    told = pb.StepReport(path=path, ordinal=ordinal, kind=number, state=state, attempt=attempt, **more)
    return pb.OperationReport(step=told)


def resource(path: str, status: str = "VALID", **more: Any) -> pb.OperationReport:
    """A report about a resource."""
    number = pb.ResourceStatus.Value(f"RESOURCE_STATUS_{status}")
    told = pb.ResourceReport(path=path, type=f"image-of-{path}", status=number, **more)
    return pb.OperationReport(resource=told)


def removed(path: str) -> pb.OperationReport:
    """A report that a resource is no more."""
    return pb.OperationReport(removed=path)


def finish(
    state: workflow_pb.State.ValueType = SUCCEEDED, cause: str | None = None, *, result: str = ""
) -> pb.OperationReport:
    """A report that an operation has ended."""
    told = CAUSE if cause is None and state != SUCCEEDED else cause or ""
    return pb.OperationReport(finish=pb.FinishReport(state=state, cause=told, result=result))


def installs(path: str) -> list[pb.OperationReport]:
    """The reports of a resource that is found VALID at once."""
    return [
        node(path, "INSTALLING"),
        step(path, 1, "STATE", RUNNING),
        step(path, 1, "STATE", SUCCEEDED),
        resource(path, config="{}", state='{"is": 1}', owned=True),
        node(path, "READY"),
    ]


def removes(path: str) -> list[pb.OperationReport]:
    """The reports of a resource that is destroyed."""
    return [
        node(path, "REMOVING"),
        step(path, 1, "DESTROY", RUNNING, name="destroy"),
        step(path, 1, "DESTROY", SUCCEEDED, exit_code=0),
        removed(path),
        node(path, "REMOVED", changed=True),
    ]


@dataclass(frozen=True)
class Site:
    """Calls and looks."""

    stub: release_service_pb2_grpc.ReleaseServiceStub
    work: work_service_pb2_grpc.WorkServiceStub
    sql: asyncpg.Connection
    logs: StepLogs
    database_url: str

    def applying(self, *names: str, release: str = "shop", operation_id: str = "", **more: Any) -> pb.ApplyRequest:
        """The request that applies a manifest of resources of these names."""
        chosen = {"files": [pb.ManifestFile(name="m.yaml", text=manifest(*names or ("db",)))], **more}
        return pb.ApplyRequest(operation_id=operation_id or str(uuid.uuid4()), name=release, **chosen)

    async def apply(self, *names: str, release: str = "shop", **more: Any) -> "Flow":
        """Begin to apply a manifest of resources of these names."""
        begun = await self.stub.Apply(self.applying(*names, release=release, **more))
        return Flow(self, begun.id, release)

    async def begin(self, call: str, *, release: str = "shop", operation_id: str = "", **more: Any) -> "Flow":
        """Begin another operation: Rollback, Uninstall or Resume."""
        request = getattr(pb, f"{call}Request")(operation_id=operation_id or str(uuid.uuid4()), name=release, **more)
        begun = await getattr(self.stub, call)(request)
        return Flow(self, begun.id, release)

    async def install(self, *names: str, release: str = "shop", **more: Any) -> "Flow":
        """Install a release, by whoever is there."""
        flow = await self.apply(*names or ("db",), release=release, **more)
        await flow.carry_out(*names or ("db",))
        return flow

    async def acquire(self, owner: str = "a", where: str = "engine") -> int:
        """Begin a lease and return its token."""
        return (await self.work.Acquire(work_service_pb2.AcquireRequest(owner=owner, engine=where))).lease_token

    async def kill(self, token: int) -> None:
        """Let a lease be over, as if its owner had not been heard of for too long."""
        await self.sql.execute("UPDATE lease SET expires_at = clock_timestamp() WHERE token = $1", token)

    async def release(self, name: str = "shop") -> pb.Release:
        """A release as it is now."""
        return await self.stub.GetRelease(pb.GetReleaseRequest(name=name))

    async def release_state(self, name: str = "shop") -> str:
        """The state of a release."""
        return pb.ReleaseState.Name((await self.release(name)).state).removeprefix("RELEASE_STATE_")

    async def revisions(self, name: str = "shop") -> dict[int, str]:
        """The states of a release's revisions, the newest first."""
        found = [each async for each in self.stub.History(pb.HistoryRequest(name=name))]
        return {each.revision: pb.RevisionState.Name(each.state).removeprefix("REVISION_STATE_") for each in found}

    async def events(self, *, after: int = 0) -> list[str]:
        """What was recorded about releases, such as `release.created shop`, `node.ready db` or `operation.started`."""
        return [
            f"{name} {data.get('path') or data.get('name', '')}".strip() for name, data in await self.recorded(after)
        ]

    async def recorded(self, after: int = 0) -> list[tuple[str, dict[str, Any]]]:
        """The names and the data of the events."""
        rows = await self.sql.fetch("SELECT name, data FROM events WHERE revision > $1 ORDER BY revision", after)
        return [(row["name"], json.loads(row["data"])) for row in rows]

    async def last_revision(self) -> int:
        """The revision of the last event."""
        return int(await self.sql.fetchval("SELECT coalesce(max(revision), 0) FROM events"))


@dataclass
class Flow:
    """An operation, and the lease under which it is carried out."""

    site: Site
    id: str
    release: str
    token: int = 0

    async def get(self) -> pb.Operation:
        """The operation as it is now."""
        return await self.site.stub.GetOperation(pb.GetOperationRequest(id=self.id))

    async def state(self) -> str:
        """The state of the operation."""
        return workflow_pb.State.Name((await self.get()).state).removeprefix("STATE_")

    async def nodes(self) -> dict[str, str]:
        """The states of the nodes by their paths, in the order of the plan."""
        found = [each async for each in self.site.stub.ListNodes(pb.ListNodesRequest(operation_id=self.id))]
        return {each.path: pb.NodeState.Name(each.state).removeprefix("NODE_STATE_") for each in found}

    async def acquire(self, token: int = 0) -> pb.AcquireOperationResponse:
        """Take the operation under a lease, a new one by default."""
        self.token = token or await self.site.acquire()
        return await self.site.stub.AcquireOperation(
            pb.AcquireOperationRequest(operation_id=self.id, lease_token=self.token)
        )

    def submitting(self, text: str, documents: Mapping[str, str], **head: Any) -> AsyncIterator[pb.SubmitPlanRequest]:
        """The messages of a plan."""
        parts = {**documents, "plan": text}

        async def messages() -> AsyncIterator[pb.SubmitPlanRequest]:
            told = {"operation_id": self.id, "lease_token": self.token, **head}
            yield pb.SubmitPlanRequest(head=pb.SubmitPlanHead(**told))
            for name, part in parts.items():
                for start in range(0, len(part), 100_000):
                    piece = pb.DocumentPart(name=name, text=part[start : start + 100_000])
                    yield pb.SubmitPlanRequest(document=piece)

        return messages()

    async def submit(self, *names: str, removed: Sequence[str] = (), **more: Any) -> pb.SubmitPlanResponse:
        """Submit the plan of resources of these names, and of others that go."""
        head = {name: more.pop(name) for name in ("lease_token", "has_plugs") if name in more}
        documents = {"manifest": manifest(*names), "late": "{}", **more}
        return await self.site.stub.SubmitPlan(self.submitting(plan(*names, removed=removed), documents, **head))

    async def submit_text(self, text: str, **documents: str) -> pb.SubmitPlanResponse:
        """Submit a plan of an operation that brings about what is stored."""
        return await self.site.stub.SubmitPlan(self.submitting(text, documents))

    async def report(self, *reports: pb.OperationReport, token: int | None = None) -> pb.Operation:
        """Report about the operation."""
        request = pb.ReportOperationRequest(
            operation_id=self.id, lease_token=self.token if token is None else token, reports=reports
        )
        return (await self.site.stub.ReportOperation(request)).operation

    async def refused(self, *reports: pb.OperationReport, token: int | None = None) -> edge.Refusal:
        """Report about the operation, which must be refused."""
        return await edge.refused(self.report(*reports, token=token))

    async def cancel(self, **more: Any) -> pb.Operation:
        """Ask for the end of the operation."""
        return await self.site.stub.Cancel(pb.CancelRequest(operation_id=self.id, **more))

    async def carry_out(self, *names: str, removed: Sequence[str] = (), token: int = 0) -> None:
        """Carry the operation out to its success."""
        await self.acquire(token)
        if names:
            await self.submit(*names, removed=removed)
        else:
            await self.submit_text(plan(removed=removed))
        await self.carry_on(*names, removed=removed)

    async def carry_on(self, *names: str, removed: Sequence[str] = ()) -> None:
        """Carry the operation, which has a plan, out to its success."""
        await self.report(*(each for name in names for each in installs(name)))
        await self.report(*(each for name in removed for each in removes(name)), finish())

    async def carry_out_plan(self, *names: str, result: str = '{"nodes": []}') -> None:
        """Carry a plan out that finds all as it should be, but for what the result says."""
        await self.acquire()
        await self.submit(*names)
        for name in names:
            await self.report(node(name, "INSTALLING"), node(name, "READY"))
        await self.report(finish(result=result))

    async def fail(self, *names: str) -> None:
        """Carry the operation out until its first node fails."""
        await self.acquire()
        await self.submit(*names)
        await self.report(node(names[0], "INSTALLING"), node(names[0], "FAILED", message="no"), finish(FAILED))

    async def outlive(self) -> None:
        """Let the deadline pass."""
        await self.site.sql.execute(
            "UPDATE operation SET deadline_at = clock_timestamp() WHERE id = $1", uuid.UUID(self.id)
        )

    def step_id(self, path: str, ordinal: int = 1) -> str:
        """The id of a step."""
        return step_id(self.id, path, ordinal)


@contextlib.asynccontextmanager
async def open_site(
    database_url: str, *, keys: Keys | None = None, pool_size: int = 10, log_poll_seconds: float = 0.02
) -> AsyncIterator[Site]:
    """Serve releases over a database, by a server that has these keys."""
    sql = await asyncpg.connect(database_url)
    pool = engine.create(role.url_of_server(database_url), pool_size=pool_size)
    database = Database(pool)
    service, machines = ReleaseService(database, SecretService(keys)), MachineHolds(database)
    logs = StepLogs(database, service.expiry, poll_seconds=log_poll_seconds)
    holders: dict[str, Holder] = {WORKFLOW: machines, OPERATION: OperationHolds()}
    leases = LeaseService(database, lease_seconds=LEASE_SECONDS, holders=holders)
    servicer = ReleaseServicer(service, logs, _NoWatches())  # type: ignore[arg-type] # see _NoWatches

    def register(server: grpc.aio.Server) -> None:
        release_service_pb2_grpc.add_ReleaseServiceServicer_to_server(servicer, server)
        work_service_pb2_grpc.add_WorkServiceServicer_to_server(WorkServicer(leases, machines), server)

    try:
        async with edge.serving(register) as served:
            stub = release_service_pb2_grpc.ReleaseServiceStub(served.channel)
            work = work_service_pb2_grpc.WorkServiceStub(served.channel)
            yield Site(stub, work, sql, logs, database_url)
    finally:
        await pool.dispose()
        await sql.close()
