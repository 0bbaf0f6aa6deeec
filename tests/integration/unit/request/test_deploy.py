"""Deploy and AddUnits: what is made at once, what a repeated request does, and where units go."""

import asyncio
import json
import uuid

import grpc.aio
import pytest

from support import edge
from support.application_site import MACHINES, PG, WEB, Site, refusal
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.core.unit import limit
from tinkwell.server.unit.service.request import deploying

UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def test_a_charm_is_deployed_and_its_unit_told_all_of_its_setup(site: Site) -> None:
    made = await site.deploy(PG, "pg", 2, config={})
    assert (made.name, made.namespace, made.life, made.units) == ("pg", "default", pb.LIFE_ALIVE, 2)
    assert (made.charm_name, made.kind, made.profile) == ("pg", pb.CHARM_KIND_SCRIPTS, pb.UNIT_PROFILE_LITERAL)
    [peer] = [each async for each in site.apps.ListRelations(pb.ListRelationsRequest())]
    assert (peer.is_peer, peer.number, peer.interface) == (True, 1, "pg-cluster")
    assert [(end.application, end.endpoint) for end in peer.ends] == [("pg", "cluster")]
    unit = await site.unit("pg/0")
    assert (unit.phase, list(unit.storages), unit.is_anywhere) == (pb.UNIT_PHASE_WAITING, ["disk/0"], True)
    agent = await site.agent()
    assert await site.run(agent, "pg/0") == [
        "pg/0 disk-storage-attached",
        "pg/0 install",
        "pg/0 cluster-relation-created",
        "pg/0 leader-elected",
        "pg/0 config-changed",
        "pg/0 start",
    ]
    unit = await site.unit("pg/0")
    assert (unit.phase, unit.is_leader, unit.is_agent_alive) == (pb.UNIT_PHASE_OPERATION, True, True)


async def test_a_configuration_is_checked_and_reaches_the_unit(site: Site) -> None:
    made = await site.deploy(WEB, "web", config={"workers": "3"})
    assert (made.config, made.config_version) == ('{"workers":3}', 1)
    agent = await site.agent()
    unit_id = (await site.unit("web/0")).id
    granted = (await agent.next(unit_id)).grant
    assert json.loads(granted.config) == {"workers": 3}
    refused = await refusal(site.deploy(WEB, "web2", config={"workers": 0, "titel": 1}))
    assert refused.fields == {
        "config.workers": "is 0; it must be at least 1",
        "config.titel": "the charm has no such option; did you mean title?",
    }


async def test_a_repeated_request_changes_nothing(site: Site) -> None:
    id_ = str(uuid.uuid4())
    first = await site.deploy(WEB, "web", 2, id=id_)
    assert await site.deploy(WEB, "web", 2, id=id_) == first
    assert await site.count("unit") == 2
    refused = await refusal(site.deploy(WEB, "other", id=id_))
    assert (refused.reason, refused.metadata["taken_by"]) == ("ALREADY_EXISTS", "application web")
    refused = await refusal(site.deploy(WEB, "web"))
    assert refused.message == "name web is already taken; give another name, or upgrade the application"


async def test_names_are_unique_in_their_namespace(site: Site) -> None:
    await site.deploy(PG, "pg")
    await site.deploy(PG, "pg", namespace="shop")
    found = [(each.namespace, each.name) async for each in site.apps.ListApplications(pb.ListApplicationsRequest())]
    assert found == [("default", "pg"), ("shop", "pg")]
    listed = site.apps.ListUnits(pb.ListUnitsRequest(namespace="shop", application="pg"))
    assert [(each.namespace, each.name) async for each in listed] == [("shop", "pg/0")]


async def test_all_that_is_wrong_is_told_at_once(site: Site) -> None:
    request = pb.DeployRequest(
        id="1",
        namespace="Shop",
        name="web-0",
        charm="web",
        units=10_001,
        machines=["rack1"],
        is_anywhere=True,
    )
    refused = await refusal(site.apps.Deploy(request))
    assert sorted(refused.fields) == ["charm", "id", "machines", "machines[0]", "name", "namespace", "units"]


async def test_what_is_not_there_is_named(site: Site) -> None:
    refused = await refusal(site.apps.Deploy(pb.DeployRequest(name="web", charm="sha256:" + "0" * 64, units=1)))
    assert refused.message == f"charm sha256:{'0' * 64} does not exist"
    refused = await refusal(site.deploy(WEB, "web", machines=[UNKNOWN]))
    assert refused.message == f"hardware {UNKNOWN} (machines[0]) does not exist"
    assert not await site.left()


async def test_units_have_as_many_storages_as_are_asked_for(site: Site) -> None:
    await site.deploy(WEB, "web", 2, storages=[pb.StorageCount(name="data", count=2)])
    assert [*(await site.unit("web/1")).storages] == ["data/2", "data/3"]
    refused = await refusal(site.deploy(WEB, "w", storages=[pb.StorageCount(name="data", count=3)]))
    assert refused.fields == {"storages[0].count": "is 3; it must be from 0 to 2"}
    refused = await refusal(site.deploy(WEB, "w", storages=[pb.StorageCount(name="disk", count=1)]))
    assert refused.fields == {"storages[0].name": 'the charm has no storage "disk"; known are data'}


async def test_units_go_to_the_machines_that_are_named_and_then_where_the_fewest_are(site: Site) -> None:
    for number in range(3):
        await site.machine(number)
    await site.agent("one", machines=MACHINES[:2], is_anywhere=False)
    await site.deploy(WEB, "web", 5, machines=[MACHINES[2], MACHINES[0]])
    placed = [each.machine async for each in site.apps.ListUnits(pb.ListUnitsRequest())]
    assert placed == [MACHINES[2], MACHINES[0], MACHINES[1], MACHINES[0], MACHINES[1]]


async def test_units_without_a_place_wait_for_an_agent(site: Site) -> None:
    await site.machine(0)
    await site.agent("native", machines=MACHINES[:1], is_anywhere=False, kinds=[pb.CHARM_KIND_NATIVE])
    await site.deploy(WEB, "web", machines=[])
    assert (await site.unit("web/0")).machine == ""
    agent = await site.agent("scripts", machines=MACHINES[:1], is_anywhere=False)
    assert (await site.unit("web/0")).machine == MACHINES[0]
    assert (await site.run(agent, "web/0"))[-1] == "web/0 start"


async def test_units_are_added_with_numbers_that_were_never_given_before(site: Site) -> None:
    await site.deploy(WEB, "web", 2)
    await site.apps.RemoveUnit(pb.RemoveUnitRequest(unit="web/1"))
    ids = [str(uuid.uuid4()), str(uuid.uuid4())]
    request = pb.AddUnitsRequest(application="web", units=2, is_anywhere=True, ids=ids)
    added = (await site.apps.AddUnits(request)).units
    assert [(each.name, each.id) for each in added] == [("web/2", ids[0]), ("web/3", ids[1])]
    assert (await site.apps.AddUnits(request)).units == added
    assert await site.count("unit") == 3
    refused = await refusal(site.apps.AddUnits(pb.AddUnitsRequest(application="web", units=2, ids=[ids[0], UNKNOWN])))
    assert refused.reason == "ALREADY_EXISTS"
    refused = await refusal(site.apps.AddUnits(pb.AddUnitsRequest(application="web", ids=[ids[0]])))
    assert sorted(refused.fields) == ["ids", "units"]


async def test_units_beyond_what_a_relation_may_have_are_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "MEMBERS_PER_RELATION", 3)
    await site.deploy(PG, "pg", 3)
    refused = await refusal(site.apps.AddUnits(pb.AddUnitsRequest(application="pg", units=1, is_anywhere=True)))
    assert refused.message == "a relation of pg would have more than 3 units, which one may have"
    monkeypatch.setattr(limit, "UNITS_PER_APPLICATION", 3)
    refused = await refusal(site.apps.AddUnits(pb.AddUnitsRequest(application="pg", units=1, is_anywhere=True)))
    assert refused.message == "pg would have more than the 3 units that one may have"
    assert await site.count("unit") == 3


async def test_nothing_is_added_to_what_is_being_removed_or_is_not_there(site: Site) -> None:
    await site.deploy(WEB, "web")
    agent = await site.agent()
    await site.run(agent, "web/0")
    await site.apps.Remove(pb.RemoveRequest(application="web"))
    refused = await refusal(site.apps.AddUnits(pb.AddUnitsRequest(application="web", units=1)))
    assert refused.message == "application web: it is being removed; wait, and deploy it anew"
    refused = await refusal(site.apps.AddUnits(pb.AddUnitsRequest(namespace="shop", application="web", units=1)))
    assert refused.message == "application web of namespace shop does not exist"


async def test_of_two_who_deploy_at_once_one_is_told_that_the_name_is_taken(site: Site) -> None:
    await site.charm(WEB)
    answers = await asyncio.gather(*(site.deploy(WEB, "web", 3) for _ in range(4)), return_exceptions=True)
    made = [answer for answer in answers if isinstance(answer, pb.Application)]
    refused = [edge.refusal(answer) for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
    assert (len(made), {each.reason for each in refused}) == (1, {"ALREADY_EXISTS"})
    assert await site.count("unit") == 3


def test_the_machine_with_the_fewest_units_is_next() -> None:
    assert deploying.spread({"a": 2, "b": 0}, [], 4) == ["b", "b", "a", "b"]
    assert deploying.spread({"a": 0, "b": 0}, ["a", "c"], 2) == ["b", "a"]
    assert deploying.spread({}, [], 2) == [None, None]
