"""A unit that is ended by force at whatever event of its life: others are told, and nothing of it is left."""

import json

import pytest

from support.application_site import PG, WEB, Site
from support.unit_site import Agent, title
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2
from tinkwell.core.unit.invariant import audit
from tinkwell.core.unit.world.state import LogEntry

# All that a unit is told that is set up, meets another one, and is removed, in the order of the document.
LIFE = (
    "data-storage-attached",
    "install",
    "db-relation-created",
    "leader-elected",
    "config-changed",
    "start",
    "db-relation-joined",
    "db-relation-changed",
    "db-relation-departed",
    "db-relation-broken",
    "data-storage-detaching",
    "stop",
    "remove",
)
LAST_OF_OPERATION = LIFE.index("db-relation-changed")


async def _grown(site: Site, agent: Agent, number: int) -> tuple[pb.Unit, str]:
    """Have a unit that runs the event of a number; returns it, and the id of the other one."""
    await site.deploy(PG, "pg")
    await site.deploy(WEB, "web", storages=[pb.StorageCount(name="data", count=1)])
    await site.apps.Relate(pb.RelateRequest(first="web", second="pg"))
    await site.run(agent, "pg/0")
    unit = await site.unit("web/0")
    told: list[str] = []
    while len(told) <= number:
        if len(told) == LAST_OF_OPERATION + 1:
            await site.apps.RemoveUnit(pb.RemoveUnitRequest(unit="web/0"))
        found = await agent.next(unit.id)
        if found.HasField("none"):  # the leader's step waits for an election, which asking again brings
            continue
        told.append(title(found.grant).split()[1])
        if len(told) <= number:
            await agent.commit(unit.id)
            await site.run(agent, "pg/0")
    assert told == list(LIFE[: number + 1])
    return unit, (await site.unit("pg/0")).id


async def _audited(site: Site) -> list[str]:
    entries = [
        LogEntry(
            revision=row["revision"],
            resource_type=row["resource_type"],
            event_type=row["event_type"],
            resource_id=str(row["resource_id"]),
            parent_id=str(row["parent_id"] or ""),
            data=json.loads(row["data"]),
        )
        for row in await site.sql.fetch("SELECT * FROM events ORDER BY revision")
    ]
    return [str(each) for each in audit(entries, is_at_rest=True)]


@pytest.mark.parametrize("has_failed", [False, True], ids=["running", "in-error"])
@pytest.mark.parametrize("number", range(len(LIFE)), ids=LIFE)
async def test_a_unit_is_ended_by_force_in_every_event(site: Site, number: int, has_failed: bool) -> None:
    agent = await site.agent()
    unit, other = await _grown(site, agent, number)
    if has_failed:
        await agent.fail(unit.id)
    removed = await site.apps.RemoveUnit(pb.RemoveUnitRequest(unit="web/0", force=True))
    assert removed.life == pb.LIFE_DEAD
    assert (await agent.next(unit.id)).none.reason == unit_service_pb2.NO_EVENT_REASON_GONE
    assert await site.sql.fetchval("SELECT count(*) FROM unit_event WHERE state IN ('RUNNING', 'ERROR')") == 0
    told = await agent.run(other)
    # Who has met it is told that it went, once, unless that was before.
    has_met = LIFE.index("db-relation-created") < number <= LIFE.index("db-relation-broken")
    assert told == ["pg/0 db-relation-departed web/0"] * has_met
    assert {each.name async for each in site.apps.ListUnits(pb.ListUnitsRequest())} == {"pg/0"}
    assert await site.sql.fetchval("SELECT count(*) FROM storage WHERE name LIKE 'data/%'") == 0
    assert await _audited(site) == []
    for name in ("web", "pg"):
        await site.apps.Remove(pb.RemoveRequest(application=name))
    await agent.run(other)
    assert not await site.left()


async def test_a_unit_that_no_agent_has_served_is_ended_by_force(site: Site) -> None:
    await site.deploy(WEB, "web", 2, storages=[pb.StorageCount(name="data", count=1)])
    assert (await site.unit("web/1")).phase == pb.UNIT_PHASE_WAITING
    assert (await site.apps.RemoveUnit(pb.RemoveUnitRequest(unit="web/1", force=True))).life == pb.LIFE_DEAD
    await site.apps.Remove(pb.RemoveRequest(application="web", force=True))
    assert not await site.left()
    assert await _audited(site) == []
