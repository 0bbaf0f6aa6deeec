"""RemoveUnit and Remove: teardown in order, the end by force, and no row that is left."""

import pytest

from support.application_site import MACHINES, PG, WEB, Site, refusal
from support.unit_site import Agent
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2


async def remove_unit(site: Site, unit: str, **more: object) -> pb.Unit:
    return await site.apps.RemoveUnit(pb.RemoveUnitRequest(unit=unit, **more))  # type: ignore[arg-type]


async def related(site: Site) -> Agent:
    """Two units of one application and one of another one, related and settled."""
    await site.deploy(WEB, "web", 2, storages=[pb.StorageCount(name="data", count=1)])
    await site.deploy(PG, "pg")
    await site.apps.Relate(pb.RelateRequest(first="web", second="pg"))
    agent = await site.agent()
    await site.run(agent, "web/0", "web/1", "pg/0")
    return agent


async def test_a_unit_is_torn_down_in_order_and_leaves_nothing(site: Site) -> None:
    await site.deploy(WEB, "web", storages=[pb.StorageCount(name="data", count=1)])
    agent = await site.agent()
    await site.run(agent, "web/0")
    removed = await remove_unit(site, "web/0")
    assert removed.life == pb.LIFE_DYING
    assert await site.run(agent, "web/0") == ["web/0 data-storage-detaching", "web/0 stop", "web/0 remove"]
    assert await site.left() == {"application": 1}
    assert (await refusal(remove_unit(site, "web/0"))).message == "unit web/0 does not exist"
    await site.apps.Remove(pb.RemoveRequest(application="web"))
    assert not await site.left()


async def test_a_repeated_removal_changes_nothing(site: Site) -> None:
    agent = await related(site)
    first = await remove_unit(site, "web/1")
    assert await remove_unit(site, "web/1") == first
    event = (await agent.next(first.id)).grant.event
    assert (event.name, event.reason, event.leaving, event.actor) == (
        "db-relation-departed",
        "UNIT_REMOVED",
        "SELF",
        "anonymous",
    )


async def test_a_unit_that_was_told_nothing_is_gone_at_once(site: Site) -> None:
    await site.deploy(PG, "pg", 2)
    assert (await remove_unit(site, "pg/1")).life == pb.LIFE_DEAD
    assert [each.name async for each in site.apps.ListUnits(pb.ListUnitsRequest())] == ["pg/0"]
    assert (await site.apps.Remove(pb.RemoveRequest(application="pg"))).life == pb.LIFE_DYING
    assert not await site.left()


@pytest.mark.parametrize("units", [0, 1, 5])
async def test_an_application_is_removed_with_all_that_belongs_to_it(site: Site, units: int) -> None:
    await site.deploy(WEB, "web", units, storages=[pb.StorageCount(name="data", count=1)])
    await site.deploy(PG, "pg")
    await site.apps.Relate(pb.RelateRequest(first="web", second="pg"))
    agent = await site.agent()
    names = [f"web/{number}" for number in range(units)]
    await site.run(agent, "pg/0", *names)
    ids = [(await site.unit(name)).id for name in ("pg/0", *names)]
    assert (await site.apps.Remove(pb.RemoveRequest(application="web"))).life == pb.LIFE_DYING
    told = await agent.run(*ids)
    assert sorted(name for name in told if name.endswith(" remove")) == [f"{name} remove" for name in names]
    assert [name for name in told if name.startswith("pg/0")][-1:] == ["pg/0 db-relation-broken"]
    assert {row["name"] for row in await site.sql.fetch("SELECT name FROM application")} == {"pg"}
    assert (await site.left())["relation"] == 1
    await site.apps.Remove(pb.RemoveRequest(application="pg"))
    await agent.run(ids[0])
    assert not await site.left()


async def test_a_unit_in_the_middle_of_its_setup_ends_it_with_teardown(site: Site) -> None:
    await site.deploy(PG, "pg")
    agent = await site.agent()
    unit_id = (await site.unit("pg/0")).id
    await agent.next(unit_id)
    await agent.commit(unit_id)
    await site.apps.Remove(pb.RemoveRequest(application="pg"))
    await agent.commit(unit_id)
    assert await agent.run(unit_id) == ["pg/0 disk-storage-detaching", "pg/0 remove"]
    assert not await site.left()


async def test_an_application_whose_event_has_failed_is_removed(site: Site) -> None:
    await site.deploy(WEB, "web")
    agent = await site.agent()
    unit_id = (await site.unit("web/0")).id
    await agent.next(unit_id)
    await agent.fail(unit_id)
    await site.apps.Remove(pb.RemoveRequest(application="web"))
    await agent.run(unit_id)
    assert not await site.left()


async def test_a_unit_that_is_ended_by_force_gets_no_more_events_and_others_are_told(site: Site) -> None:
    agent = await related(site)
    await site.apps.SetConfig(pb.SetConfigRequest(application="web", config='{"workers": 3}'))
    leader = await site.unit("web/0")
    await agent.next(leader.id)
    removed = await remove_unit(site, "web/0", force=True)
    assert (removed.life, removed.is_leader, list(removed.storages)) == (pb.LIFE_DEAD, False, [])
    found = await agent.next(leader.id)
    assert found.none.reason == unit_service_pb2.NO_EVENT_REASON_GONE
    refused = await refusal(agent.commit(leader.id))
    assert refused.reason in ("LEASE_LOST", "NOT_FOUND", "ILLEGAL_TRANSITION")
    told = [*await site.run(agent, "pg/0", "web/1"), *await site.run(agent, "pg/0", "web/1")]
    assert "pg/0 db-relation-departed web/0" in told
    assert "web/1 db-relation-departed web/0" in told
    assert not await site.sql.fetch("SELECT name FROM unit WHERE name = 'web/0'")
    assert "web/1 leader-elected" in told


async def test_force_with_a_grace_waits_for_it(site: Site) -> None:
    agent = await related(site)
    unit = await site.unit("web/1")
    assert (await remove_unit(site, "web/1", force=True, grace_seconds=600)).life == pb.LIFE_DYING
    await site.service.removing.force_due()
    assert (await site.unit("web/1")).life == pb.LIFE_DYING
    await agent.next(unit.id)
    await site.sql.execute("UPDATE unit SET force_at = clock_timestamp() WHERE force_at IS NOT NULL")
    await site.service.removing.force_due()
    assert (await agent.next(unit.id)).none.reason == unit_service_pb2.NO_EVENT_REASON_GONE
    states = await site.sql.fetch("SELECT event_type FROM events WHERE name = 'unit.db-relation-departed.abandoned'")
    assert len(states) == 1
    assert (await refusal(remove_unit(site, "web/0", grace_seconds=5))).fields == {
        "grace_seconds": "goes with force, which it puts off; set force, or leave it out"
    }


@pytest.mark.parametrize("events", [0, 2, 6])
async def test_all_of_an_application_is_ended_by_force_at_every_phase(site: Site, events: int) -> None:
    await site.deploy(PG, "pg", 2)
    agent = await site.agent()
    ids = [(await site.unit(f"pg/{number}")).id for number in range(2)]
    for unit_id in ids:
        await agent.next(unit_id)
        for _ in range(events):
            await agent.commit(unit_id)
    await site.apps.Remove(pb.RemoveRequest(application="pg", force=True))
    assert not await site.left()


async def test_storage_that_is_kept_stays_on_its_machine(site: Site) -> None:
    await site.machine(0)
    agent = await site.agent(machines=MACHINES[:1], is_anywhere=False)
    await site.deploy(PG, "pg", 2, machines=[MACHINES[0], MACHINES[0]])
    await site.run(agent, "pg/0", "pg/1")
    await remove_unit(site, "pg/0", keep_storage=True)
    await site.run(agent, "pg/0")
    await remove_unit(site, "pg/1", keep_storage=True, force=True)
    found = [each async for each in site.apps.ListStorages(pb.ListStoragesRequest())]
    assert [(each.name, each.unit, each.machine, each.life) for each in found] == [
        ("disk/0", "", MACHINES[0], pb.LIFE_ALIVE),
        ("disk/1", "", MACHINES[0], pb.LIFE_ALIVE),
    ]


async def test_storage_that_only_the_next_charm_has_goes_with_its_unit(site: Site) -> None:
    await site.deploy(WEB, "web")
    agent = await site.agent()
    await site.run(agent, "web/0")
    unit_id = (await site.unit("web/0")).id
    newer = await site.charm(f"{WEB}summary: newer\n".replace("storage: {", "storage: {cache: {}, "))
    await site.apps.Refresh(pb.RefreshRequest(application="web", charm=newer.digest))
    assert [*(await site.unit("web/0")).storages] == ["cache/0"]
    await site.apps.Remove(pb.RemoveRequest(application="web"))
    await agent.run(unit_id)
    assert not await site.left()
