"""What is said to have caused an event, of each kind of cause."""

import pytest

from support.application_site import PG, WEB, Site, refusal
from support.unit_site import Agent
from tinkwell.api.v1 import application_service_pb2 as pb


async def causes(site: Site, unit: str) -> list[str]:
    """What has made due the event that a unit runs."""
    found = await site.apps.Explain(pb.ExplainUnitRequest(unit=unit))
    return [cause.sentence for cause in found.causes]


async def _until(site: Site, agent: Agent, unit: str, event: str) -> None:
    """Have a unit run its events up to one."""
    unit_id = (await site.unit(unit)).id
    found = await agent.next(unit_id)
    while not found.HasField("grant") or found.grant.event.name != event:
        if found.HasField("grant"):
            await agent.commit(unit_id)
        else:
            assert found.none.due_in_seconds == 0, f"{event} does not come: {found.none}"
        found = await agent.next(unit_id)


async def _related(site: Site) -> Agent:
    await site.deploy(WEB, "web", 2)
    await site.deploy(PG, "pg")
    agent = await site.agent()
    await site.apps.Relate(pb.RelateRequest(first="web", second="pg"))
    await site.run(agent, "web/0", "web/1", "pg/0")
    return agent


async def test_an_event_of_leadership_names_the_leader_and_its_term(site: Site) -> None:
    await site.deploy(WEB, "web", 2)
    agent = await site.agent()
    await _until(site, agent, "web/0", "leader-elected")
    assert await causes(site, "web/0") == ["web/0 leads web, in term 1"]
    await _until(site, agent, "web/1", "leader-settings-changed")
    assert await causes(site, "web/1") == ["no leader of web had been announced yet"]
    await site.run(agent, "web/0")
    await agent.commit((await site.unit("web/1")).id)
    await _until(site, agent, "web/1", "leader-settings-changed")
    assert await causes(site, "web/1") == ["web/0 leads web, in term 1"]


async def test_a_storage_is_named(site: Site) -> None:
    await site.deploy(WEB, "web", storages=[pb.StorageCount(name="data", count=1)])
    agent = await site.agent()
    await _until(site, agent, "web/0", "data-storage-attached")
    assert await causes(site, "web/0") == ["it has storage data/0"]


async def test_another_charm_is_named(site: Site) -> None:
    await site.deploy(WEB, "web")
    agent = await site.agent()
    await site.run(agent, "web/0")
    newer = await site.charm(f"{WEB}summary: newer\n")
    await site.apps.Refresh(pb.RefreshRequest(application="web", charm=newer.digest))
    await _until(site, agent, "web/0", "upgrade-charm")
    assert await causes(site, "web/0") == [f"its application has another charm, {newer.digest[:19]}…"]


async def test_a_configuration_is_said_to_be_deployed_or_changed(site: Site) -> None:
    await site.deploy(WEB, "web", config={"workers": 3})
    agent = await site.agent()
    await _until(site, agent, "web/0", "config-changed")
    assert await causes(site, "web/0") == ["anonymous deployed web"]
    await site.run(agent, "web/0")
    await site.apps.SetConfig(pb.SetConfigRequest(application="web", config='{"workers": 4}'))
    await _until(site, agent, "web/0", "config-changed")
    assert await causes(site, "web/0") == ["anonymous changed the configuration of web"]


@pytest.mark.parametrize(
    ("unit", "event", "cause"),
    [
        ("web/1", "db-relation-departed", "anonymous removed the unit web/1"),
        ("pg/0", "db-relation-departed", "anonymous removed the unit web/1"),
    ],
)
async def test_a_removed_unit_is_named_to_itself_and_to_others(site: Site, unit: str, event: str, cause: str) -> None:
    agent = await _related(site)
    await site.apps.RemoveUnit(pb.RemoveUnitRequest(unit="web/1"))
    if unit != "web/1":
        await site.run(agent, "web/1")
    await _until(site, agent, unit, event)
    assert await causes(site, unit) == [cause, "it is in relation db"]


async def test_force_is_said_to_have_been_used(site: Site) -> None:
    agent = await _related(site)
    await site.apps.RemoveUnit(pb.RemoveUnitRequest(unit="web/1", force=True))
    await _until(site, agent, "pg/0", "db-relation-departed")
    assert await causes(site, "pg/0") == ["web/1 was removed by force", "it is in relation db"]


async def test_the_end_of_a_relation_and_of_an_application_names_who_asked_for_it(site: Site) -> None:
    agent = await _related(site)
    await site.apps.Unrelate(pb.UnrelateRequest(first="web", second="pg"))
    await _until(site, agent, "pg/0", "db-relation-departed")
    assert await causes(site, "pg/0") == ["anonymous ended the relation with web", "it is in relation db"]
    await site.run(agent, "web/0", "web/1", "pg/0")
    await site.apps.Remove(pb.RemoveRequest(application="pg"))
    await _until(site, agent, "pg/0", "stop")
    assert await causes(site, "pg/0") == ["anonymous removed the application"]


async def test_what_is_not_there_is_not_explained(site: Site) -> None:
    told = await refusal(site.apps.Explain(pb.ExplainUnitRequest(unit="web/0")))
    assert (told.reason, told.message) == ("NOT_FOUND", "unit web/0 does not exist")
