"""A site with machines, templates and the workflow service over a real channel, and the events that it has caused."""

import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import grpc.aio

from support import edge, rendering, role
from tinkwell.api.v1 import work_service_pb2, work_service_pb2_grpc, workflow_service_pb2_grpc
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.lease.api.servicer import OPERATION, WORKFLOW, WorkServicer
from tinkwell.server.lease.service.operations import Holder, LeaseService
from tinkwell.server.release.service.operation_hold import OperationHolds
from tinkwell.server.workflow.api.servicer import WorkflowServicer
from tinkwell.server.workflow.service.data import WorkflowDataService
from tinkwell.server.workflow.service.machine_hold import MachineHolds
from tinkwell.server.workflow.service.operations import WorkflowService
from tinkwell.server.workflow.service.output import LogService

# Machines as every site has them: number, MAC and addresses.
ONE = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a01"
TWO = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a02"
MACS = {ONE: "52:54:00:10:00:0a", TWO: "52:54:00:10:00:0b"}
IPS = {ONE: "192.168.56.43", TWO: "2001:db8::2b"}
UNKNOWN = "00000000-0000-4000-8000-000000000000"

RUNNING = pb.STATE_RUNNING
SUCCEEDED = pb.STATE_SUCCEEDED
FAILED = pb.STATE_FAILED
TIMEOUT = pb.STATE_TIMEOUT
CANCELLED = pb.STATE_CANCELLED
PENDING = pb.STATE_PENDING


def action(name: str, **more: object) -> dict[str, object]:
    """An action of a template."""
    return {"name": name, "image": "alpine", **more}


def task(name: str, *actions: dict[str, object], worker: str = "{{.device_1}}", **more: object) -> dict[str, object]:
    """A task of a template."""
    return {"name": name, "worker": worker, "actions": list(actions), **more}


def template_text(*tasks: dict[str, object], **more: object) -> str:
    """A template; JSON is YAML too."""
    return json.dumps({"version": "0.1", "name": "t", "tasks": list(tasks), **more})


def steps(count: int) -> dict[str, object]:
    """A task of so many actions, called step-0 and so on."""
    return task("install", *(action(f"step-{index}") for index in range(count)))


# Longer than any test: leases are over when a test says so.
LEASE_SECONDS = 600.0


class _NoWatches:
    """Stands for the watches, which these tests leave alone."""

    def stream(self, *args: object, **kwargs: object) -> Any:
        raise AssertionError("nobody watches here")


@dataclass(frozen=True)
class Site:
    """Calls and looks."""

    edge: edge.Edge
    stub: workflow_service_pb2_grpc.WorkflowServiceStub
    work: work_service_pb2_grpc.WorkServiceStub
    sql: asyncpg.Connection
    logs: LogService
    database_url: str
    children: rendering.SameProcess

    async def add_machine(self) -> str:
        """Store a machine without addresses and return its id."""
        machine = str(uuid.uuid4())
        await self.sql.execute("INSERT INTO hardware (id) VALUES ($1)", uuid.UUID(machine))
        return machine

    async def add_template(self, text: str, *, name: str = "t") -> str:
        """Store a template and return its id."""
        template_id = str(uuid.uuid4())
        await self.sql.execute(
            "INSERT INTO template (id, name, data) VALUES ($1, $2, $3)", uuid.UUID(template_id), name, text
        )
        return template_id

    async def create(self, *tasks: dict[str, object], hardware: str = "", **more: object) -> "Flow":
        """Create a workflow of these tasks for the first two machines."""
        text = template_text(*tasks or [steps(1)], **more)
        template = await self.add_template(text, name=f"t-{uuid.uuid4()}")
        request = pb.CreateWorkflowRequest(template=template, hardware=hardware or devices())
        created = await self.stub.CreateWorkflow(request)
        actions = await self.stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=created.id))
        return Flow(self, created.id, list(actions.actions))

    async def events(self, *, after: int = 0) -> list[str]:
        """What was recorded about workflows and actions, such as `workflow.started 2` or `action.created[0] 1`."""
        return [label for _, label, _ in await self.recorded(after=after)]

    async def recorded(self, *, after: int = 0) -> list[tuple[int, str, dict[str, Any]]]:
        """The same with revisions and data."""
        rows = await self.sql.fetch(
            "SELECT revision, name, version, data FROM events"
            " WHERE revision > $1 AND resource_type IN ('WORKFLOW', 'ACTION') ORDER BY revision",
            after,
        )
        found = [(row[0], row[1], row[2], json.loads(row[3])) for row in rows]
        return [
            (revision, f"{name}[{data['index']}] {version}" if "index" in data else f"{name} {version}", data)
            for revision, name, version, data in found
        ]

    async def acquire(self, owner: str, engine: str = "engine") -> int:
        """Begin a lease and return its token."""
        request = work_service_pb2.AcquireRequest(owner=owner, engine=engine)
        return (await self.work.Acquire(request)).lease_token

    async def kill(self, token: int) -> None:
        """Let a lease be over, as if its owner had not been heard of for too long."""
        await self.sql.execute("UPDATE lease SET expires_at = clock_timestamp() WHERE token = $1", token)

    async def last_revision(self) -> int:
        """The revision of the last event."""
        return int(await self.sql.fetchval("SELECT coalesce(max(revision), 0) FROM events"))


@dataclass(frozen=True)
class Flow:
    """A workflow as it was created."""

    site: Site
    id: str
    actions: Sequence[pb.WorkflowAction]

    def reported(self, index: int, state: pb.State.ValueType, **more: Any) -> pb.ReportActionStatusRequest:
        """The request that reports on the action of this index, by its own worker."""
        chosen = {"action_id": self.actions[index].id, "worker_id": self.actions[index].worker_id, **more}
        return pb.ReportActionStatusRequest(workflow_id=self.id, state=state, **chosen)

    async def report(self, index: int, state: pb.State.ValueType, **more: Any) -> pb.ReportActionStatusResponse:
        """Report on an action."""
        return await self.site.stub.ReportActionStatus(self.reported(index, state, **more))

    async def refused(self, index: int, state: pb.State.ValueType, **more: Any) -> edge.Refusal:
        """Report on an action, which must be refused."""
        return await edge.refused(self.site.stub.ReportActionStatus(self.reported(index, state, **more)))

    async def succeed(self, *indexes: int) -> None:
        """Run these actions to their success."""
        for index in indexes:
            await self.report(index, RUNNING)
            await self.report(index, SUCCEEDED)

    async def get(self) -> pb.Workflow:
        """The workflow as it is now."""
        return await self.site.stub.GetWorkflow(pb.GetWorkflowRequest(id=self.id))

    async def current_actions(self) -> list[pb.WorkflowAction]:
        """The actions as they are now."""
        answer = await self.site.stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=self.id))
        return list(answer.actions)

    async def states(self) -> list[str]:
        """The states of the workflow and of its actions."""
        found = [(await self.get()).state, *(action.state for action in await self.current_actions())]
        return [pb.State.Name(state).removeprefix("STATE_") for state in found]


def devices(**more: object) -> str:
    """The device map of the first two machines."""
    return json.dumps({"device_1": MACS[ONE], "device_2": MACS[TWO], **more})


@contextlib.asynccontextmanager
async def open_site(
    database_url: str, *, pool_size: int = 10, log_poll_seconds: float = 0.02, **pages: int
) -> AsyncIterator[Site]:
    """Serve workflows over a database, to which two machines are added. `pages` are those of the service."""
    sql = await asyncpg.connect(database_url)
    try:
        for machine in (ONE, TWO):
            dhcp = {"mac": MACS[machine], "ip": {"address": IPS[machine]}}
            await sql.execute(
                "INSERT INTO hardware (id, network) VALUES ($1, $2)",
                uuid.UUID(machine),
                json.dumps({"interfaces": [{"dhcp": dhcp}]}),
            )
        async with _serving(database_url, sql, pool_size, log_poll_seconds, **pages) as site:
            yield site
    finally:
        await sql.close()


@contextlib.asynccontextmanager
async def open_peer(site: Site) -> AsyncIterator[Site]:
    """Serve the same database by another server."""
    async with _serving(site.database_url, site.sql, 2, 0.02) as peer:
        yield peer


@contextlib.asynccontextmanager
async def _serving(
    database_url: str, sql: asyncpg.Connection, pool_size: int, log_poll_seconds: float, **pages: int
) -> AsyncIterator[Site]:
    pool = engine.create(role.url_of_server(database_url), pool_size=pool_size)
    database = Database(pool)
    machines = MachineHolds(database)
    holders: dict[str, Holder] = {WORKFLOW: machines, OPERATION: OperationHolds()}
    leases = LeaseService(database, lease_seconds=LEASE_SECONDS, holders=holders)
    logs = LogService(database, poll_seconds=log_poll_seconds)
    children = rendering.SameProcess()
    workflows = WorkflowService(database, rendering.same_process(children), **pages)
    servicer = WorkflowServicer(workflows, WorkflowDataService(database), logs, _NoWatches())  # type: ignore[arg-type] # see _NoWatches

    def register(server: grpc.aio.Server) -> None:
        workflow_service_pb2_grpc.add_WorkflowServiceServicer_to_server(servicer, server)
        work_service_pb2_grpc.add_WorkServiceServicer_to_server(WorkServicer(leases, machines), server)

    try:
        async with edge.serving(register) as served:
            stub = workflow_service_pb2_grpc.WorkflowServiceStub(served.channel)
            work_stub = work_service_pb2_grpc.WorkServiceStub(served.channel)
            yield Site(served, stub, work_stub, sql, logs, database_url, children)
    finally:
        await pool.dispose()
