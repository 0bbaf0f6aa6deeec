"""Agents are told which of their units may have something due: of each one that has, whoever has brought it about."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import grpc.aio
import pytest

from support import edge, role, server
from support.unit_rows import Rows
from support.unit_site import Agent, Site
from support.waiting import eventually
from tinkwell.api.v1 import application_service_pb2 as application_pb
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2_grpc, work_service_pb2, work_service_pb2_grpc
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database


class Listener:
    """Listens as an agent, and knows which units were named since it looked last."""

    def __init__(self, stub: unit_service_pb2_grpc.UnitServiceStub, agent: Agent, **offer: Any) -> None:
        self._call = stub.WatchUnits(agent.offering(**offer))
        self.named: set[str] = set()
        self.is_created = asyncio.Event()

    async def run(self) -> None:
        async for response in self._call:
            self.named.update(response.unit_ids)
            if response.created:
                self.is_created.set()

    async def names(self, *unit_ids: str, of: Awaitable[object]) -> None:
        """Do something, after which these units are named, and others may be."""
        self.named.clear()
        await of
        await eventually(lambda: self.named >= set(unit_ids))


@contextlib.asynccontextmanager
async def _listening(site: Site, agent: Agent, **offer: Any) -> AsyncIterator[Listener]:
    listener = Listener(site.stub, agent, **offer)
    task = asyncio.create_task(listener.run())
    await listener.is_created.wait()
    try:
        yield listener
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, grpc.aio.AioRpcError):
            await task


@pytest.fixture
async def served(database_url: str) -> AsyncIterator[Site]:
    """A whole server, which follows its log."""
    sql = await asyncpg.connect(database_url)
    pool = engine.create(role.url_of_server(database_url), pool_size=4)
    rows = Rows(sql, Database(pool))
    await rows.prepare()
    async with (
        server.running(database_url) as running,
        grpc.aio.insecure_channel(running.address) as channel,
    ):
        stub = unit_service_pb2_grpc.UnitServiceStub(channel)
        yield Site(stub, work_service_pb2_grpc.WorkServiceStub(channel), rows, sql, None)  # type: ignore[arg-type]
    await pool.dispose()
    await sql.close()


async def test_whatever_makes_an_event_due_names_the_unit(served: Site) -> None:
    await served.rows.application("web")
    await served.rows.application("pg")
    web, pg = await served.rows.unit("web"), await served.rows.unit("pg")
    agent = await served.agent()
    await agent.run(web, pg)
    async with _listening(served, agent) as listener:
        assert listener.named == {web, pg}
        await listener.names(web, of=served.configure("web", port=80))
        relation = await served.rows.relate(("pg", "db"), ("web", "db"))
        await eventually(lambda: listener.named >= {web, pg})
        await agent.run(web, pg)
        await served.sql.execute("UPDATE unit SET next_tick_at = clock_timestamp()")
        await agent.next(web)
        bag = pb.BagEdit(relation=relation, edits=[pb.KeyEdit(key="port", value="80")])
        await listener.names(pg, of=agent.commit(web, bags=[bag]))
        await agent.run(web, pg)
        await listener.names(web, of=served.rows.storage(web))
        await listener.names(web, pg, of=served.unrelate(relation))
        await agent.run(web, pg)
        new = await served.rows.unit("web")
        await eventually(lambda: new in listener.named)
        await listener.names(new, of=served.dying(new))
        await listener.names(new, of=agent.run(new))


async def test_tasks_and_secrets_name_the_units_that_they_concern(served: Site) -> None:
    await served.rows.application("web")
    await served.rows.application("pg")
    web, pg = await served.rows.unit("web"), await served.rows.unit("pg")
    agent = await served.agent()
    await agent.run(web, pg)
    async with _listening(served, agent) as listener:
        asked = served.sql.execute(
            """
            INSERT INTO task (namespace, application_id, unit_id, unit, kind, name, timeout_seconds)
            SELECT namespace, application_id, id, name, 'ACTION', 'ping', 60 FROM unit WHERE id = $1::text::uuid
            """,
            web,
        )
        await listener.names(web, of=asked)
        await listener.names(web, of=served.sql.execute("UPDATE task SET state = 'CANCELLED'"))
        made = served.sql.execute(
            """
            INSERT INTO secret (namespace, name, application_id, unit_id, owner)
            SELECT namespace, repeat('a', 20), application_id, id, name FROM unit WHERE id = $1::text::uuid
            """,
            pg,
        )
        await listener.names(pg, of=made)
        reads = "INSERT INTO secret_reader (secret_id, unit_id, tracked) SELECT id, $1::text::uuid, 1 FROM secret"
        await served.sql.execute(reads, web)
        await listener.names(web, pg, of=served.sql.execute("UPDATE secret SET latest = 2"))


async def test_what_no_event_tells_is_found_in_rounds(served: Site) -> None:
    await served.rows.application("web")
    unit = await served.rows.unit("web")
    agent = await served.agent()
    await agent.run(unit)
    async with _listening(served, agent) as listener:
        await listener.names(unit, of=served.sql.execute("UPDATE unit SET metrics_requested = 1"))
        assert await agent.run(unit) == ["web/0 collect-metrics"]
    # Another agent, on the same machine, takes over from one that is no more.
    other = await served.agent("b", "two")
    async with _listening(served, other) as listener:
        assert listener.named == set()
        await listener.names(unit, of=served.kill(agent))


async def test_an_agent_is_named_its_own_units_alone(site: Site) -> None:
    machine = str(uuid.uuid4())
    await site.rows.application("web")
    await site.rows.application("pg")
    web, pg = await site.rows.unit("web"), await site.rows.unit("pg")
    placed = await site.rows.unit("pg")
    await site.sql.execute("UPDATE unit SET is_anywhere = false WHERE id = $1::text::uuid", placed)
    agent = await site.agent()
    assert set(await agent.serve()) == {web, pg}
    assert await agent.serve(application="pg") == [pg]
    assert await agent.serve(namespace="elsewhere") == []
    assert await agent.serve(kinds=[application_pb.CHARM_KIND_NATIVE]) == []
    assert await agent.serve(is_anywhere=False, machines=[str(uuid.uuid4())], application="web") == []
    # One that waits for a place is placed with the first agent that has one for it.
    assert await agent.serve(is_anywhere=False, machines=[machine]) == [placed]
    assert str(await site.sql.fetchval("SELECT machine_id FROM unit WHERE id = $1::text::uuid", placed)) == machine


async def test_a_bad_offer_is_refused(site: Site) -> None:
    agent = await site.agent()

    async def refused(call: Callable[[], pb.WatchUnitsRequest]) -> edge.Refusal:
        async def watch() -> None:
            async for _ in site.stub.WatchUnits(call()):
                pass

        return await edge.refused(watch())

    told = await refused(lambda: pb.WatchUnitsRequest(lease_token=agent.token))
    assert sorted(told.fields) == ["kinds", "machines"]
    told = await refused(lambda: agent.offering(kinds=[0], machines=["x"]))
    assert list(told.fields) == ["kinds[0]"]
    told = await refused(lambda: agent.offering(machines=["x"], application="Web"))
    assert sorted(told.fields) == ["application", "machines[0]"]
    await site.sql.execute("DELETE FROM lease")
    assert (await refused(agent.offering)).reason == "LEASE_LOST"


async def test_a_lease_that_is_acquired_again_serves_what_it_served(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    await site.agent()
    again = (await site.work.Acquire(work_service_pb2.AcquireRequest(owner="a", engine="engine"))).lease_token
    assert (await Agent(site.stub, again).next(unit)).grant.event.kind == "install"
