"""Attach, Detach and RemoveStorage: instances given to units and taken from them, and what their charm allows."""

from support.application_site import MACHINES, PG, WEB, Site, refusal
from tinkwell.api.v1 import application_service_pb2 as pb


async def attach(site: Site, unit: str, storage: str) -> pb.Storage:
    return await site.apps.Attach(pb.AttachRequest(unit=unit, storage=storage))


async def detach(site: Site, storage: str) -> pb.Storage:
    return await site.apps.Detach(pb.DetachRequest(storage=storage))


async def test_a_detached_instance_goes_to_another_unit_of_its_machine(site: Site) -> None:
    for number in range(2):
        await site.machine(number)
    agent = await site.agent(machines=MACHINES[:2], is_anywhere=False)
    await site.deploy(WEB, "web", 3, machines=[MACHINES[0], MACHINES[0], MACHINES[1]])
    await site.run(agent, "web/0", "web/1", "web/2")
    given = await attach(site, "web/0", "data")
    assert (given.name, given.unit, given.is_attached, given.machine) == ("data/0", "web/0", False, MACHINES[0])
    assert await site.run(agent, "web/0") == ["web/0 data-storage-attached"]
    refused = await refusal(attach(site, "web/1", "data/0"))
    assert refused.message == "storage data/0: unit web/0 has it; detach it first"
    taken = await detach(site, "data/0")
    assert (taken.life, taken.unit, taken.is_attached) == (pb.LIFE_DYING, "web/0", True)
    assert await detach(site, "data/0") == taken
    assert await site.run(agent, "web/0") == ["web/0 data-storage-detaching"]
    refused = await refusal(attach(site, "web/2", "data/0"))
    assert refused.message == f"storage data/0: it is on machine {MACHINES[0]}, where web/2 is not"
    assert (await attach(site, "web/1", "data/0")).unit == "web/1"
    assert await site.run(agent, "web/1") == ["web/1 data-storage-attached"]


async def test_what_a_unit_was_never_told_of_is_taken_at_once(site: Site) -> None:
    await site.machine(0)
    await site.deploy(WEB, "web", machines=[MACHINES[0]])
    await attach(site, "web/0", "data")
    assert (await detach(site, "data/0")).unit == ""
    refused = await refusal(detach(site, "data/0"))
    assert refused.message == "storage data/0: no unit has it; there is nothing to detach"


async def test_without_a_machine_there_is_nothing_to_stay_on(site: Site) -> None:
    await site.deploy(WEB, "web")
    agent = await site.agent()
    await site.run(agent, "web/0")
    await attach(site, "web/0", "data")
    await detach(site, "data/0")
    assert not await site.count("storage")
    await attach(site, "web/0", "data")
    await site.run(agent, "web/0")
    await detach(site, "data/1")
    await site.run(agent, "web/0")
    assert not await site.count("storage")


async def test_a_charm_says_how_many_there_may_be(site: Site) -> None:
    await site.deploy(WEB, "web", storages=[pb.StorageCount(name="data", count=2)])
    refused = await refusal(attach(site, "web/0", "data"))
    assert refused.message == (
        "unit web/0: it has 2 of data already, which is all that its charm allows; detach one first"
    )
    refused = await refusal(attach(site, "web/0", "dato"))
    assert refused.fields == {"storage": 'the charm has no storage "dato"; did you mean data?'}
    await site.deploy(PG, "pg")
    refused = await refusal(detach(site, "disk/2"))
    assert refused.message == (
        "storage disk/2: the charm needs one in each unit; remove pg/0 with its storage kept instead"
    )


async def test_names_are_checked(site: Site) -> None:
    for name in ("data", "data/", "data/x", "Data/0", "data/00"):
        assert list((await refusal(detach(site, name))).fields) == ["storage"]
    assert (await refusal(detach(site, "data/0"))).message == "storage data/0 does not exist"
    assert (await refusal(attach(site, "web/0", "data"))).message == "unit web/0 does not exist"
    assert list((await refusal(attach(site, "web", "data"))).fields) == ["unit"]
