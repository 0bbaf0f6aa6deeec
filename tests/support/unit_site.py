"""UnitService over a real channel, agents that tests play by hand, and rows beside them."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import grpc.aio

from support import edge, role
from support.unit_rows import DIGEST, Rows
from tinkwell.api.v1 import application_service_pb2 as application_pb
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.api.v1 import (
    unit_service_pb2_grpc,
    work_service_pb2,
    work_service_pb2_grpc,
)
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.lease.api.servicer import OPERATION, WORKFLOW, WorkServicer
from tinkwell.server.lease.service.operations import Holder, LeaseService
from tinkwell.server.release.service.operation_hold import OperationHolds
from tinkwell.server.unit.api.agent_servicer import UnitServicer
from tinkwell.server.unit.service.agent.service import AgentService
from tinkwell.server.workflow.service.machine_hold import MachineHolds

# Longer than any test: leases are over when a test says so.
LEASE_SECONDS = 600.0


def edits(**texts: str | None) -> list[pb.KeyEdit]:
    """Edits of keys; None takes a key away."""
    return [pb.KeyEdit(key=key, value=text) for key, text in texts.items()]


def bag(relation: int, *, is_application: bool = False, **texts: str | None) -> pb.BagEdit:
    """An edit of the unit's own bag, or its application's."""
    return pb.BagEdit(relation=relation, is_application=is_application, edits=edits(**texts))


@dataclass
class Agent:
    """An agent, played by hand: its lease, and the grant that each unit has."""

    stub: unit_service_pb2_grpc.UnitServiceStub
    token: int
    grants: dict[str, pb.Grant] = field(default_factory=dict)

    async def serve(self, **offer: Any) -> list[str]:
        """Say what is served, all units that are anywhere unless told otherwise; returns the ids that are named."""
        call = self.stub.WatchUnits(self.offering(**offer))
        named = [unit_id async for unit_id in _first(call)]
        call.cancel()
        return named

    def offering(self, **offer: Any) -> pb.WatchUnitsRequest:
        """What the agent serves."""
        chosen = {"kinds": [application_pb.CHARM_KIND_SCRIPTS], "is_anywhere": True, **offer}
        return pb.WatchUnitsRequest(lease_token=self.token, **chosen)

    async def next(self, unit_id: str) -> pb.NextEventResponse:
        """Ask for a unit's next event."""
        return self._take(unit_id, await self.stub.NextEvent(self.asking(unit_id)))

    def asking(self, unit_id: str) -> pb.NextEventRequest:
        """The request for a unit's next event."""
        return pb.NextEventRequest(lease_token=self.token, unit_id=unit_id)

    def committing(self, unit_id: str, **effects: Any) -> pb.CommitEventRequest:
        """The request that commits the event that a unit was granted."""
        granted = self.grants[unit_id].event
        return pb.CommitEventRequest(
            lease_token=self.token, event_id=granted.id, attempt=granted.attempt, effects=pb.Effects(**effects)
        )

    async def commit(self, unit_id: str, **effects: Any) -> pb.NextEventResponse:
        """Commit it."""
        return self._take(unit_id, (await self.stub.CommitEvent(self.committing(unit_id, **effects))).next)

    def ending(self, unit_id: str, state: str = "SUCCEEDED", **outcome: Any) -> pb.CommitEventRequest:
        """The request that ends the task that a unit was granted; `effects` are those of an event."""
        effects = outcome.pop("effects", {})
        number = application_pb.TaskState.Value(f"TASK_STATE_{state}")
        return pb.CommitEventRequest(
            lease_token=self.token,
            event_id=self.grants[unit_id].task.id,
            attempt=1,
            effects=pb.Effects(**effects),
            task=pb.TaskOutcome(state=number, **outcome),
        )

    async def end(self, unit_id: str, state: str = "SUCCEEDED", **outcome: Any) -> pb.NextEventResponse:
        """End it."""
        return self._take(unit_id, (await self.stub.CommitEvent(self.ending(unit_id, state, **outcome))).next)

    async def read_secret(self, unit_id: str, name: str = "", *, label: str = "", revision: int = 0) -> dict[str, str]:
        """Read a secret in the event or the task that a unit was granted."""
        return dict((await self.stub.ReadSecret(self.reading(unit_id, name, label=label, revision=revision))).content)

    def reading(self, unit_id: str, name: str = "", *, label: str = "", revision: int = 0) -> pb.ReadSecretRequest:
        """The request for it."""
        granted = self.grants[unit_id]
        event_id = granted.event.id or granted.task.id
        return pb.ReadSecretRequest(lease_token=self.token, event_id=event_id, id=name, label=label, revision=revision)

    async def fail(self, unit_id: str, message: str = "exit 1", **how: bool) -> pb.NextEventResponse:
        """Say that it has failed, or `is_lost` or `is_handed_back`."""
        granted = self.grants[unit_id].event
        request = pb.FailEventRequest(
            lease_token=self.token, event_id=granted.id, attempt=granted.attempt, message=message, **how
        )
        return self._take(unit_id, (await self.stub.FailEvent(request)).next)

    async def read(self, unit_id: str, relation: int, owner: str) -> application_pb.Bag:
        """Read a bag in the event that a unit was granted."""
        request = pb.ReadBagRequest(
            lease_token=self.token, event_id=self.grants[unit_id].event.id, relation=relation, owner=owner
        )
        return (await self.stub.ReadBag(request)).bag

    async def run(self, *unit_ids: str) -> list[str]:
        """Run and commit events of units, one each in turn, until nothing is due; returns their names."""
        told: list[str] = []
        is_busy = True
        while is_busy:
            is_busy = False
            for unit_id in unit_ids:
                found = await self.next(unit_id)
                if found.HasField("grant"):
                    told.append(title(found.grant))
                    await self.commit(unit_id)
                    is_busy = True
        return told

    def _take(self, unit_id: str, found: pb.NextEventResponse) -> pb.NextEventResponse:
        if found.HasField("grant"):
            self.grants[unit_id] = found.grant
        return found


def title(grant: pb.Grant) -> str:
    """What a grant is about, such as `web/0 db-relation-joined pg/0`."""
    return " ".join(filter(None, (grant.unit, grant.event.name, grant.event.relation.unit)))


async def _first(call: Any) -> AsyncIterator[str]:
    async for response in call:
        for unit_id in response.unit_ids:
            yield unit_id
        if response.created:
            return


@dataclass
class Site:
    """Agents, rows and looks."""

    stub: unit_service_pb2_grpc.UnitServiceStub
    work: work_service_pb2_grpc.WorkServiceStub
    rows: Rows
    sql: asyncpg.Connection
    service: AgentService

    async def agent(self, owner: str = "a", where: str = "engine", **offer: Any) -> Agent:
        """Begin a lease for an agent that serves units."""
        token = (await self.work.Acquire(work_service_pb2.AcquireRequest(owner=owner, engine=where))).lease_token
        agent = Agent(self.stub, token)
        await agent.serve(**offer)
        return agent

    async def kill(self, agent: Agent, *, ago_seconds: float = 0.0) -> None:
        """Let an agent's lease be over for so long, as if it had not been heard of."""
        await self.sql.execute(
            "UPDATE lease SET expires_at = clock_timestamp() - make_interval(secs => $2) WHERE token = $1",
            agent.token,
            ago_seconds,
        )

    async def stop(self, agent: Agent) -> None:
        """Let an agent end its lease in order."""
        await self.work.Release(work_service_pb2.ReleaseRequest(lease_token=agent.token))

    async def dying(self, unit_id: str, actor: str = "ann") -> None:
        """Ask for a unit's removal."""
        await self.sql.execute(
            """
            UPDATE unit SET life = 'DYING', removal_reason = 'UNIT_REMOVED', removal_actor = $2
             WHERE id = $1::text::uuid
            """,
            unit_id,
            actor,
        )

    async def unrelate(self, number: int) -> None:
        """Ask for a relation's removal."""
        await self.sql.execute("UPDATE relation SET life = 'DYING', removal_actor = 'ann' WHERE number = $1", number)

    async def configure(self, application: str, **config: object) -> None:
        """Change an application's configuration."""
        await self.sql.execute(
            "UPDATE application SET config = $2::text::json WHERE name = $1", application, json.dumps(config)
        )

    async def retry_now(self) -> None:
        """Let every event that has failed be tried again at once."""
        await self.sql.execute("UPDATE unit_event SET retry_at = clock_timestamp() WHERE state = 'ERROR'")

    async def told(self, unit_id: str) -> list[str]:
        """The unit's events with their states, by ordinal, such as `install COMMITTED`."""
        found = await self.sql.fetch(
            "SELECT kind, state, attempt FROM unit_event WHERE unit_id = $1::text::uuid ORDER BY ordinal", unit_id
        )
        return [f"{row['kind']} {row['state']}" for row in found]

    async def count(self, table: str) -> int:
        """How many rows a table has."""
        return int(await self.sql.fetchval(f"SELECT count(*) FROM {table}"))


@contextlib.asynccontextmanager
async def open_site(database_url: str, *, pool_size: int = 10) -> AsyncIterator[Site]:
    """Serve agents over a database that has a namespace and a charm."""
    sql = await asyncpg.connect(database_url)
    pool = engine.create(role.url_of_server(database_url), pool_size=pool_size)
    database = Database(pool)
    rows = Rows(sql, database)
    await rows.prepare()
    holders: dict[str, Holder] = {WORKFLOW: MachineHolds(database), OPERATION: OperationHolds()}
    leases = LeaseService(database, lease_seconds=LEASE_SECONDS, holders=holders)
    service = AgentService(database, interval_seconds=1)
    leases.on_end.append(service.hand_back)

    def register(server: grpc.aio.Server) -> None:
        unit_service_pb2_grpc.add_UnitServiceServicer_to_server(UnitServicer(service), server)
        machines = MachineHolds(database)
        work_service_pb2_grpc.add_WorkServiceServicer_to_server(WorkServicer(leases, machines), server)

    try:
        async with edge.serving(register) as served:
            stub = unit_service_pb2_grpc.UnitServiceStub(served.channel)
            work = work_service_pb2_grpc.WorkServiceStub(served.channel)
            yield Site(stub, work, rows, sql, service)
    finally:
        service.wakes.close()
        await pool.dispose()
        await sql.close()


__all__ = ["DIGEST", "Agent", "Site", "bag", "edits", "open_site", "title"]
