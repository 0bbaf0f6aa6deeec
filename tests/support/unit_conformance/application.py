"""What operators ask for, and what they are answered."""

import asyncio
import uuid
from collections.abc import Mapping

import pytest

from support.client_conformance import machine
from support.unit_agent import PG, WEB, Agent, charm, deploy
from support.unit_conformance.check import check
from tinkwell.client import (
    Client,
    Grant,
    NoEvent,
    NoEventReason,
    errors,
)
from tinkwell.core.unit.effect import NO_EFFECTS, Effects
from tinkwell.core.unit.kinds import Life

_SETUP = ["install", "leader-elected", "config-changed", "start"]


@check
async def options_are_checked_and_told_by_config_changed(client: Client) -> None:
    agent = await deploy(client, "web", config={"workers": "3"})
    assert (await client.applications.get("web")).config == {"workers": 3}
    for wrong in ({"workers": 0}, {"workers": "many"}, {"size": 1}):
        with pytest.raises(errors.InvalidField, match=r"config\.(workers|size)"):
            await client.applications.set_config("web", wrong)
    changed = await client.applications.set_config("web", {"title": "ä", "workers": None})
    assert (changed.config, changed.config_version) == ({"title": "ä"}, 2)
    configs: list[Mapping[str, object]] = []

    def keep(grant: Grant) -> Effects:
        configs.append(grant.config)
        return NO_EFFECTS

    agent.handlers["config-changed"] = keep
    await agent.run()
    assert configs == [{"title": "ä", "workers": 2}]
    assert (await client.applications.set_config("web", {"title": "ä"})).config_version == 2


@check
async def a_removed_application_leaves_nothing(client: Client) -> None:
    agent = await deploy(client, "pg", "web", units=2)
    await client.applications.relate("web", "pg")
    await agent.run()
    agent.told.clear()
    dying = await client.applications.remove("web")
    assert dying.life is Life.DYING
    await agent.run()
    for unit in ("web/0", "web/1"):
        assert agent.events(unit)[-2:] == ["stop", "remove"]
    with pytest.raises(errors.NotFound):
        await client.applications.get("web")
    assert [each.name async for each in client.applications.list()] == ["pg"]
    assert [each async for each in client.applications.relations()] == []
    assert [each.name async for each in client.applications.units()] == ["pg/0", "pg/1"]


@check
async def a_unit_that_is_removed_leaves_the_others(client: Client) -> None:
    agent = await deploy(client, "web", units=2)
    agent.told.clear()
    await client.applications.remove_unit("web/1")
    await agent.run()
    assert agent.events("web/1") == ["cluster-relation-departed", "cluster-relation-broken", "stop", "remove"] or (
        agent.events("web/1") == ["cluster-relation-departed", "stop", "remove"]
    )
    assert "cluster-relation-departed" in agent.events("web/0")
    (added,) = await client.applications.add_units("web", anywhere=True)
    assert added.name == "web/2"
    with pytest.raises(errors.NotFound):
        await client.applications.unit("web/1")


@check
async def a_unit_that_is_removed_by_force_is_told_nothing_more(client: Client) -> None:
    agent = await deploy(client, "web")
    agent.told.clear()
    unit = await client.applications.unit("web/0")
    await client.applications.remove_unit("web/0", force=True)
    gone = await client.units.next_event(agent.token, unit.id)
    assert isinstance(gone, NoEvent)
    assert gone.reason is NoEventReason.GONE
    assert agent.told == []


@check
async def storage_comes_and_goes_with_events(client: Client) -> None:
    pushed = machine()
    await client.hardware.push(pushed)
    agent = await Agent.enter(client, machines=[str(pushed["id"])])
    await client.applications.deploy("web", charm(WEB), storage={"data": 1})
    await agent.run()
    assert agent.events("web/0")[:2] == ["data-storage-attached", "install"]
    agent.told.clear()
    found = await client.applications.attach("web/0", "data")
    assert (found.name, found.unit, found.attached, found.machine) == ("data/1", "web/0", False, pushed["id"])
    await agent.run()
    assert (await client.applications.unit("web/0")).storage == ("data/0", "data/1")
    await client.applications.detach("data/0")
    await agent.run()
    assert agent.events("web/0") == ["data-storage-attached", "data-storage-detaching"]
    first, second = [each async for each in client.applications.storages()]
    assert (first.name, first.unit, first.attached) == ("data/0", "", False)
    assert (second.name, second.unit, second.attached) == ("data/1", "web/0", True)
    await client.applications.attach("web/0", "data/0")
    await agent.run()
    assert agent.events("web/0")[-1] == "data-storage-attached"
    with pytest.raises(errors.NotFound):
        await client.applications.detach("data/7")
    with pytest.raises(errors.IllegalTransition, match="detach it first"):
        await client.applications.remove_storage("data/0")
    await client.applications.detach("data/0")
    await agent.run()
    removed = await client.applications.remove_storage("data/0")
    assert (removed.name, removed.unit) == ("data/0", "")
    assert [each.name async for each in client.applications.storages()] == ["data/1"]
    with pytest.raises(errors.NotFound):
        await client.applications.remove_storage("data/0")


@check
async def storage_of_no_machine_goes_with_its_unit(client: Client) -> None:
    agent = await deploy(client, "web")
    await client.applications.attach("web/0", "data")
    await agent.run()
    await client.applications.detach("data/0")
    await agent.run()
    assert [each async for each in client.applications.storages()] == []


@check
async def what_does_not_fit_is_refused_with_its_reason(client: Client) -> None:
    await deploy(client, "pg", "web")
    for first, second in (("web", "web"), ("web:db", "web:cluster"), ("pg", "pg")):
        with pytest.raises(errors.EndpointMismatch):
            await client.applications.relate(first, second)
    with pytest.raises(errors.NotFound):
        await client.applications.relate("web", "mysql")
    with pytest.raises(errors.CharmRefused, match="containers"):
        await client.applications.upload_charm(charm("name: web\ncontainers: {web: {}}\n"))
    with pytest.raises(errors.AlreadyExists):
        await client.applications.deploy("web", charm(WEB), anywhere=True)
    with pytest.raises(errors.InvalidField):
        await client.applications.deploy("web/0", charm(WEB), anywhere=True)
    with pytest.raises(errors.NotFound):
        await client.applications.deploy("other", "sha256:" + 64 * "0")
    await client.applications.relate("web", "pg")
    with pytest.raises(errors.CharmRefused, match="db"):
        await client.applications.refresh("web", charm("name: web\npeers: {cluster: {interface: web}}\n"))


@check
async def a_repeated_deployment_changes_nothing(client: Client) -> None:
    ids = str(uuid.uuid4()), str(uuid.uuid4())
    made = await client.applications.deploy("pg", charm(PG), anywhere=True, id=ids[0])
    assert (await client.applications.deploy("pg", charm(PG), anywhere=True, id=ids[0])).id == made.id == ids[0]
    (added,) = await client.applications.add_units("pg", anywhere=True, ids=[ids[1]])
    (again,) = await client.applications.add_units("pg", anywhere=True, ids=[ids[1]])
    assert (added.id, added.name) == (again.id, again.name) == (ids[1], "pg/1")


@check
async def a_refreshed_application_upgrades_its_units(client: Client) -> None:
    agent = await deploy(client, "web")
    agent.told.clear()
    new = WEB.replace("summary: Serves a page", "summary: Serves two pages")
    refreshed = await client.applications.refresh("web", charm(new))
    await agent.run()
    assert agent.events("web/0") == ["upgrade-charm", "config-changed", "start"]
    assert (await client.applications.unit("web/0")).charm == refreshed.charm
    assert (await client.applications.charm(refreshed.charm)).summary == "Serves two pages"
    assert len([each async for each in client.applications.charms("web")]) == 2


@check
async def units_are_placed_on_machines_that_are_served(client: Client) -> None:
    pushed = machine()
    await client.hardware.push(pushed)
    place = str(pushed["id"])
    await client.applications.deploy("pg", charm(PG))
    assert (await client.applications.unit("pg/0")).machine == ""
    lease = await client.work.acquire("agent", "here")
    wakes = client.units.wakes(lease.token, kinds=["SCRIPTS"], machines=[place])
    unit = await client.applications.unit("pg/0")
    async with asyncio.timeout(20):
        async for unit_ids in wakes:
            if unit.id in unit_ids:
                break
    unit = await client.applications.unit("pg/0")
    assert (unit.machine, unit.anywhere) == (place, False)
    with pytest.raises(errors.NotFound):
        await client.applications.add_units("pg", machines=[str(uuid.uuid4())])


@check
async def a_namespace_has_its_own_names_and_settings(client: Client) -> None:
    await client.applications.deploy("pg", charm(PG), anywhere=True)
    await client.applications.deploy("pg", charm(PG), anywhere=True, namespace="staging")
    assert [(each.namespace, each.name) async for each in client.applications.list()] == [
        ("default", "pg"),
        ("staging", "pg"),
    ]
    assert [each.namespace async for each in client.applications.units(namespace="staging")] == ["staging"]
    first = await client.namespaces.get("staging")
    assert (first.update_status_seconds, first.event_timeout_seconds, first.retrying) == (300, 3600, True)
    changed = await client.namespaces.set("staging", update_status_seconds=60, retrying=False)
    assert (changed.update_status_seconds, changed.retrying, changed.version) == (60, False, 2)
    assert [each.name async for each in client.namespaces.list()] == ["default", "staging"]
    with pytest.raises(errors.InvalidField, match="update_status_seconds"):
        await client.namespaces.set("staging", update_status_seconds=5)
    with pytest.raises(errors.NotFound):
        await client.namespaces.get("production")


@check
async def a_watch_of_an_application_shows_all_that_belongs_to_it(client: Client) -> None:
    await deploy(client, "web")
    found = await client.applications.get("web")
    seen: list[str] = []
    types = ["APPLICATION", "UNIT_EVENT"]
    async with asyncio.timeout(20):
        async for event in client.applications.watch(resource_id=found.id, resource_types=types):
            seen.append(event.name)
            if event.data.get("kind") == "start" and event.data["state"] == "COMMITTED":
                break
    assert seen[0] == "application.created"
    assert event.name in ("unit.start", "unit.committed", "unit_event.committed")
    assert event.parent_id == found.id
