"""ApplicationService and NamespaceService over a real channel, beside UnitService for agents played by hand."""

import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, cast

import asyncpg
import grpc.aio

from support import edge, role
from support.unit_site import LEASE_SECONDS, Agent
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import (
    application_service_pb2_grpc,
    namespace_service_pb2_grpc,
    secret_service_pb2_grpc,
    unit_service_pb2_grpc,
    work_service_pb2,
    work_service_pb2_grpc,
)
from tinkwell.core.charm import package
from tinkwell.core.charm.package import NewFile
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.lease.api.servicer import OPERATION, WORKFLOW, WorkServicer
from tinkwell.server.lease.service.operations import Holder, LeaseService
from tinkwell.server.release.service.operation_hold import OperationHolds
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.secret.keys import Keys
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.api.agent_servicer import UnitServicer
from tinkwell.server.unit.api.secret_servicer import SecretServicer
from tinkwell.server.unit.api.servicer import ApplicationServicer, NamespaceServicer
from tinkwell.server.unit.service.agent.service import AgentService
from tinkwell.server.unit.service.request.service import ApplicationService
from tinkwell.server.workflow.service.machine_hold import MachineHolds

MACHINES = [f"5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a0{number}" for number in range(1, 4)]
WEB = """\
name: web
provides: {site: http}
requires: {db: {interface: postgresql, limit: 1}}
storage: {data: {multiple: {range: 0-2}}}
config:
  options:
    workers: {type: int, default: 2, minimum: 1}
    title: {type: string}
"""
PG = """\
name: pg
provides: {db: postgresql}
peers: {cluster: pg-cluster}
storage: {disk: {}}
"""


class _NoWatches:
    """Stands for the watches, which these tests leave alone."""

    def stream(self, *args: object, **kwargs: object) -> Any:
        raise AssertionError("nobody watches here")


@dataclass
class Site:
    """Calls, agents and looks."""

    edge: edge.Edge
    apps: application_service_pb2_grpc.ApplicationServiceStub
    namespaces: namespace_service_pb2_grpc.NamespaceServiceStub
    secrets: secret_service_pb2_grpc.SecretServiceStub
    units: unit_service_pb2_grpc.UnitServiceStub
    work: work_service_pb2_grpc.WorkServiceStub
    sql: asyncpg.Connection
    agents: AgentService
    service: ApplicationService

    async def charm(self, manifest: str, *files: NewFile, part_bytes: int = 1000) -> pb.Charm:
        """Upload a charm."""
        data = package.pack([NewFile("charm.yaml", manifest.encode()), *files])
        return await self.upload(data[at : at + part_bytes] for at in range(0, len(data), part_bytes))

    async def upload(self, parts: Iterable[bytes]) -> pb.Charm:
        """Upload a package."""
        return await self.apps.UploadCharm(iter([pb.UploadCharmRequest(data=part) for part in parts]))

    async def deploy(
        self, manifest: str, name: str, units: int = 1, *, config: object = None, **more: Any
    ) -> pb.Application:
        """Upload a charm and deploy it, anywhere unless told otherwise."""
        found = await self.charm(manifest)
        where = {} if "machines" in more else {"is_anywhere": True}
        text = json.dumps(config) if config is not None else ""
        request = pb.DeployRequest(name=name, charm=found.digest, units=units, config=text, **{**where, **more})
        return await self.apps.Deploy(request)

    async def agent(self, owner: str = "a", **offer: Any) -> Agent:
        """Begin a lease for an agent that serves units, all that are anywhere unless told otherwise."""
        token = (await self.work.Acquire(work_service_pb2.AcquireRequest(owner=owner, engine="e"))).lease_token
        agent = Agent(self.units, token)
        await agent.serve(**offer)
        return agent

    async def unit(self, name: str) -> pb.Unit:
        """Look at a unit."""
        return await self.apps.GetUnit(pb.GetUnitRequest(name=name))

    async def run(self, agent: Agent, *names: str) -> list[str]:
        """Run and commit all events that are due to some units, and return their titles."""
        return await agent.run(*[(await self.unit(name)).id for name in names])

    async def machine(self, number: int) -> str:
        """Make a machine."""
        await self.sql.execute(
            "INSERT INTO hardware (id, metadata, network) VALUES ($1::text::uuid, '{}', '{\"interfaces\": []}')",
            MACHINES[number],
        )
        return MACHINES[number]

    async def count(self, table: str) -> int:
        """How many rows a table has."""
        return int(await self.sql.fetchval(f"SELECT count(*) FROM {table}"))

    async def left(self) -> dict[str, int]:
        """How many rows of applications there are, for tables that have any."""
        tables = ("application", "unit", "unit_event", "relation", "relation_bag", "relation_member", "storage")
        counts = {table: await self.count(table) for table in tables}
        return {table: count for table, count in counts.items() if count}


async def refusal(call: Any) -> edge.Refusal:
    """Return what a call is refused with."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return edge.refusal(error)
    raise AssertionError(f"it was answered: {answer}")


@contextlib.asynccontextmanager
async def open_site(
    database_url: str, *, keys: Keys | None = None, allows_commands: bool = False
) -> AsyncIterator[Site]:
    """Serve operators and agents over an empty database; without keys there are no secrets."""
    sql = await asyncpg.connect(database_url)
    pool = engine.create(role.url_of_server(database_url), pool_size=10)
    database = Database(pool)
    holders: dict[str, Holder] = {WORKFLOW: MachineHolds(database), OPERATION: OperationHolds()}
    leases = LeaseService(database, lease_seconds=LEASE_SECONDS, holders=holders)
    sealing = SecretService(keys)
    agents = AgentService(database, interval_seconds=1, sealing=sealing)
    leases.on_end.append(agents.hand_back)
    service = ApplicationService(database, agents.reaping.run, sealing=sealing, allows_commands=allows_commands)
    watches = cast("Watches", _NoWatches())

    def register(server: grpc.aio.Server) -> None:
        unit_service_pb2_grpc.add_UnitServiceServicer_to_server(UnitServicer(agents), server)
        application_service_pb2_grpc.add_ApplicationServiceServicer_to_server(
            ApplicationServicer(service, watches), server
        )
        namespace_service_pb2_grpc.add_NamespaceServiceServicer_to_server(
            NamespaceServicer(service.namespaces, watches), server
        )
        secret_service_pb2_grpc.add_SecretServiceServicer_to_server(SecretServicer(service.secrets, watches), server)
        work_service_pb2_grpc.add_WorkServiceServicer_to_server(WorkServicer(leases, MachineHolds(database)), server)

    try:
        async with edge.serving(register) as served:
            yield Site(
                edge=served,
                apps=application_service_pb2_grpc.ApplicationServiceStub(served.channel),
                namespaces=namespace_service_pb2_grpc.NamespaceServiceStub(served.channel),
                secrets=secret_service_pb2_grpc.SecretServiceStub(served.channel),
                units=unit_service_pb2_grpc.UnitServiceStub(served.channel),
                work=work_service_pb2_grpc.WorkServiceStub(served.channel),
                sql=sql,
                agents=agents,
                service=service,
            )
    finally:
        service.logs.close()
        agents.wakes.close()
        await pool.dispose()
        await sql.close()
