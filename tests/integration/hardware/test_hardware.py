"""What can be done to machines, and what callers are told when it cannot be done."""

import asyncio
import json
import uuid
from typing import Any

import asyncpg
import grpc
import grpc.aio
import pytest

from support.edge import Refusal, refusal, refused
from support.resource import Resources
from support.waiting import eventually
from tinkwell.api.v1 import hardware_service_pb2 as pb

ID = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
OTHER_ID = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a12"
MAC = "52:54:00:10:00:ab"
IP = "2001:db8::2b"
CREATE_LIKE = "INSERT INTO hardware (id, metadata, network) SELECT $1, metadata, network FROM hardware WHERE id = $2"
LOCK_WAITS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def machine(
    hardware_id: str = ID, *, mac: str = MAC, ip: str = IP, metadata: str = '{"a": 1}', version: int = 0
) -> pb.Hardware:
    dhcp = pb.DHCP(mac=mac, hostname="node", lease_time=86_400, ip=pb.IP(address=ip))
    network = pb.Network(interfaces=[pb.Interface(dhcp=dhcp, netboot=pb.Netboot(allow_pxe=True))])
    return pb.Hardware(id=hardware_id, version=version, metadata=metadata, network=network)


async def push(resources: Resources, data: pb.Hardware, *, expected: int | None = None) -> pb.PushResponse:
    return await resources.hardware.Push(pb.PushRequest(data=data, expected_version=expected))


async def all_ids(resources: Resources) -> list[str]:
    return [found.id async for found in resources.hardware.All(pb.AllRequest())]


def summary(told: Refusal) -> tuple[str, str]:
    return told.code.name, told.reason


async def test_a_pushed_machine_is_found_by_id_mac_and_ip_in_any_spelling(resources: Resources) -> None:
    pushed = await push(resources, machine())
    assert (pushed.revision, pushed.version) == (1, 1)
    found = await resources.hardware.ByID(pb.ByIDRequest(id=ID.upper()))
    assert (found.id, found.version, found.metadata) == (ID, 1, '{"a": 1}')
    assert found.network == machine().network
    for mac in (MAC, MAC.upper(), MAC.replace(":", "-"), "5254.0010.00AB"):
        assert await resources.hardware.ByMAC(pb.ByMACRequest(mac=mac)) == found
    for ip in (IP, "2001:DB8:0:0::2B", "2001:0db8:0000:0000:0000:0000:0000:002b"):
        assert await resources.hardware.ByIP(pb.ByIPRequest(ip=ip)) == found


async def test_a_machine_is_kept_with_its_addresses_in_one_form(resources: Resources) -> None:
    await push(resources, machine(mac="52-54-00-10-00-AB", ip="2001:DB8:0::0:2B"))
    found = await resources.hardware.ByID(pb.ByIDRequest(id=ID))
    assert found.network == machine().network
    [event] = await resources.events()
    assert event["data"]["network"]["interfaces"][0]["dhcp"]["mac"] == MAC


async def test_any_interface_leads_to_its_machine(resources: Resources) -> None:
    data = machine()
    data.network.interfaces.add().dhcp.mac = "52:54:00:10:00:ac"
    await push(resources, data)
    assert (await resources.hardware.ByMAC(pb.ByMACRequest(mac="52:54:00:10:00:ac"))).id == ID


async def test_a_push_replaces_the_machine(resources: Resources) -> None:
    await push(resources, machine())
    changed = await push(resources, machine(mac="52:54:00:10:00:ff", metadata='{"b": [2, {}]}'))
    assert (changed.revision, changed.version) == (2, 2)
    found = await resources.hardware.ByMAC(pb.ByMACRequest(mac="52:54:00:10:00:ff"))
    assert (found.version, found.metadata) == (2, '{"b": [2, {}]}')
    assert summary(await refused(resources.hardware.ByMAC(pb.ByMACRequest(mac=MAC)))) == ("NOT_FOUND", "NOT_FOUND")
    assert [(event["event_type"], event["version"]) for event in await resources.events()] == [
        ("CREATED", 1),
        ("UPDATED", 2),
    ]


async def test_a_push_of_the_same_machine_changes_nothing(resources: Resources) -> None:
    first = await push(resources, machine())
    for same in (machine(mac=MAC.upper()), machine(metadata=' {"a":1}'), machine(version=77)):
        again = await push(resources, same)
        assert (again.revision, again.version) == (0, first.version)
    assert len(await resources.events()) == 1
    assert (await push(resources, machine(metadata='{"a": 1.0}'))).version == 2


async def test_the_version_and_the_times_in_a_push_are_ignored(resources: Resources) -> None:
    data = machine(version=-5)
    data.created_at.FromJsonString("1999-01-01T00:00:00Z")
    await push(resources, data)
    found = await resources.hardware.ByID(pb.ByIDRequest(id=ID))
    assert found.version == 1
    assert found.created_at.ToDatetime().year > 2000


async def test_no_metadata_is_an_empty_object(resources: Resources) -> None:
    await push(resources, machine(metadata=""))
    assert (await resources.hardware.ByID(pb.ByIDRequest(id=ID))).metadata == "{}"


async def test_numbers_come_back_as_they_were_written(resources: Resources) -> None:
    metadata = '{"exact": [1.10, 12345678901234567890123, 0.1000000000000000055511151231257827]}'
    await push(resources, machine(metadata=metadata))
    assert (await resources.hardware.ByID(pb.ByIDRequest(id=ID))).metadata == metadata


async def test_a_deleted_machine_is_gone_and_comes_back_when_it_is_pushed(resources: Resources) -> None:
    await push(resources, machine())
    before = await resources.hardware.ByID(pb.ByIDRequest(id=ID))
    assert (await resources.hardware.Delete(pb.DeleteRequest(id=ID.upper()))).revision == 2
    for call in (
        resources.hardware.ByID(pb.ByIDRequest(id=ID)),
        resources.hardware.ByMAC(pb.ByMACRequest(mac=MAC)),
        resources.hardware.ByIP(pb.ByIPRequest(ip=IP)),
    ):
        assert summary(await refused(call)) == ("NOT_FOUND", "NOT_FOUND")
    assert await all_ids(resources) == []
    # Nobody owns its addresses meanwhile.
    await push(resources, machine(OTHER_ID))
    await resources.hardware.Delete(pb.DeleteRequest(id=OTHER_ID))
    back = await push(resources, machine())
    assert (back.revision, back.version) == (5, 3)
    after = await resources.hardware.ByID(pb.ByIDRequest(id=ID))
    assert after.created_at.ToNanoseconds() > before.created_at.ToNanoseconds()
    events = [event["event_type"] for event in await resources.events() if str(event["resource_id"]) == ID]
    assert events == ["CREATED", "DELETED", "CREATED"]


async def test_a_conditional_push_needs_the_expected_version(resources: Resources) -> None:
    lost = ("ABORTED", "LOST_RACE")
    told = await refused(push(resources, machine(), expected=1))
    assert summary(told) == lost
    assert told.message == f"hardware {ID} does not exist; version 1 was expected"
    assert await all_ids(resources) == []
    assert (await push(resources, machine(), expected=0)).version == 1
    assert summary(await refused(push(resources, machine(), expected=0))) == lost
    assert (await push(resources, machine(), expected=1)).revision == 0
    assert (await push(resources, machine(metadata="{}"), expected=1)).version == 2
    told = await refused(push(resources, machine(), expected=1))
    assert summary(told) == lost
    assert told.message == f"hardware {ID} has the version 2; version 1 was expected"
    assert (await resources.hardware.ByID(pb.ByIDRequest(id=ID))).metadata == "{}"
    await resources.hardware.Delete(pb.DeleteRequest(id=ID))
    assert summary(await refused(push(resources, machine(), expected=3))) == lost
    assert (await push(resources, machine(), expected=0)).version == 4
    assert len(await resources.events()) == 4


@pytest.mark.parametrize(
    "mine, theirs, what, value",
    [
        ({"mac": MAC.upper()}, {}, "mac", MAC),
        ({"mac": "52-54-00-10-00-AB"}, {}, "mac", MAC),
        ({"mac": "", "ip": "2001:0DB8:0:0:0::2b"}, {}, "ip", IP),
        ({"mac": "", "ip": "::FFFF:192.0.2.7"}, {"ip": "192.0.2.7"}, "ip", "192.0.2.7"),
    ],
)
async def test_an_address_of_another_machine_is_refused_and_its_owner_is_named(
    resources: Resources, mine: dict[str, Any], theirs: dict[str, Any], what: str, value: str
) -> None:
    await push(resources, machine(OTHER_ID, **theirs))
    told = await refused(push(resources, machine(**({"ip": ""} | mine))))
    assert summary(told) == ("ALREADY_EXISTS", "ALREADY_EXISTS")
    assert told.metadata == {"what": what, "value": value, "taken_by": OTHER_ID}
    assert told.message == f"{what} {value} is already taken by {OTHER_ID}"
    assert await all_ids(resources) == [OTHER_ID]


async def test_the_address_of_a_second_interface_is_unique_too(resources: Resources) -> None:
    data = machine()
    data.network.interfaces.add().dhcp.mac = "52:54:00:10:00:ac"
    await push(resources, data)
    told = await refused(push(resources, machine(OTHER_ID, mac="52:54:00:10:00:AC", ip="")))
    assert told.metadata == {"what": "mac", "value": "52:54:00:10:00:ac", "taken_by": ID}


async def test_an_id_that_is_no_uuid_is_refused_by_every_call(resources: Resources) -> None:
    cases: list[str] = ["", "x", "5f0c1c3e8a544b7e9a536f3f1f0f2a11", "'; DROP TABLE hardware; --"]
    for hardware_id in cases:
        for call, field in (
            (push(resources, machine(hardware_id)), "data.id"),
            (resources.hardware.ByID(pb.ByIDRequest(id=hardware_id)), "id"),
            (resources.hardware.Delete(pb.DeleteRequest(id=hardware_id)), "id"),
            (resources.hardware.PhoneHome(pb.PhoneHomeRequest(id=hardware_id)), "id"),
        ):
            told = await refused(call)
            assert summary(told) == ("INVALID_ARGUMENT", "INVALID_FIELD")
            assert list(told.fields) == [field]
            assert "UUID" in told.fields[field]


async def test_a_push_without_a_machine_is_refused(resources: Resources) -> None:
    told = await refused(resources.hardware.Push(pb.PushRequest()))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert list(told.fields) == ["data"]


async def test_all_that_is_wrong_with_a_push_is_said_at_once(resources: Resources) -> None:
    told = await refused(push(resources, machine("x", mac="y", ip="z", metadata="[]"), expected=-1))
    assert list(told.fields) == [
        "data.id",
        "data.network.interfaces[0].dhcp.mac",
        "data.network.interfaces[0].dhcp.ip.address",
        "expected_version",
        "data.metadata",
    ]


async def test_what_does_not_exist_is_not_found(resources: Resources) -> None:
    for call, address in (
        (resources.hardware.ByID(pb.ByIDRequest(id=ID)), ID),
        (resources.hardware.ByMAC(pb.ByMACRequest(mac=MAC.upper())), MAC),
        (resources.hardware.ByIP(pb.ByIPRequest(ip=IP)), IP),
        (resources.hardware.Delete(pb.DeleteRequest(id=ID)), ID),
        (resources.hardware.PhoneHome(pb.PhoneHomeRequest(mac=MAC)), MAC),
    ):
        told = await refused(call)
        assert summary(told) == ("NOT_FOUND", "NOT_FOUND")
        assert told.metadata == {"resource_type": "HARDWARE", "resource_id": address}


async def test_a_second_delete_is_not_found_and_leaves_one_event(resources: Resources) -> None:
    await push(resources, machine())
    await resources.hardware.Delete(pb.DeleteRequest(id=ID))
    assert (await refused(resources.hardware.Delete(pb.DeleteRequest(id=ID)))).code is grpc.StatusCode.NOT_FOUND
    assert [event["event_type"] for event in await resources.events()] == ["CREATED", "DELETED"]


async def test_a_mac_that_is_none_is_refused(resources: Resources) -> None:
    cases: list[str] = ['52:54:00:10:00:0"', "", "52:54", "%", "52:54:00:10:00:ab\n"]
    for mac in cases:
        told = await refused(resources.hardware.ByMAC(pb.ByMACRequest(mac=mac)))
        assert summary(told) == ("INVALID_ARGUMENT", "INVALID_FIELD")
        assert list(told.fields) == ["mac"]


async def test_an_ip_that_is_none_is_refused(resources: Resources) -> None:
    cases: list[str] = ["", "192.168.1", "192.168.1.256", "fe80::1%eth0", "10.0.0.0/8", "0x7f.1"]
    for ip in cases:
        told = await refused(resources.hardware.ByIP(pb.ByIPRequest(ip=ip)))
        assert summary(told) == ("INVALID_ARGUMENT", "INVALID_FIELD")
        assert list(told.fields) == ["ip"]


async def test_a_failed_call_gives_its_connection_back(resources: Resources) -> None:
    for _ in range(25):
        await refused(resources.hardware.Delete(pb.DeleteRequest(id=ID)))
    assert (await push(resources, machine())).version == 1


async def test_machines_without_addresses_do_not_collide(resources: Resources) -> None:
    for hardware_id in (ID, OTHER_ID):
        await push(resources, machine(hardware_id, mac="", ip=""))
    assert await all_ids(resources) == [ID, OTHER_ID]


@pytest.mark.parametrize(
    "caller", [pb.PhoneHomeRequest(id=ID), pb.PhoneHomeRequest(mac=MAC.upper()), pb.PhoneHomeRequest(ip="2001:DB8::2B")]
)
async def test_a_machine_that_phones_home_is_an_event_with_what_it_said(
    resources: Resources, caller: pb.PhoneHomeRequest
) -> None:
    await push(resources, machine())
    caller.data = '{"state": "installed", "n": 1.10}'
    answer = await resources.hardware.PhoneHome(caller, metadata=(("x-tinkwell-actor", "node"),))
    created, event = await resources.events()
    assert answer.revision == event["revision"] == 2
    assert (event["event_type"], event["name"]) == ("HARDWARE_PHONE_HOME", "hardware.phone_home")
    assert (str(event["resource_id"]), event["version"], event["actor"]) == (ID, 1, "node")
    assert event["data"] == created["data"] | {"phone_home": {"state": "installed", "n": 1.1}}


async def test_a_call_home_needs_a_machine_and_a_small_json_object(resources: Resources) -> None:
    await push(resources, machine())
    for request, field in (
        (pb.PhoneHomeRequest(data="{}"), "id"),
        (pb.PhoneHomeRequest(mac="x"), "mac"),
        (pb.PhoneHomeRequest(ip="x"), "ip"),
        (pb.PhoneHomeRequest(id=ID, data="[]"), "data"),
        (pb.PhoneHomeRequest(id=ID, data="{"), "data"),
        (pb.PhoneHomeRequest(id=ID, data=json.dumps({"x": "x" * 70_000})), "data"),
    ):
        told = await refused(resources.hardware.PhoneHome(request))
        assert summary(told) == ("INVALID_ARGUMENT", "INVALID_FIELD")
        assert list(told.fields) == [field]
    assert (await resources.hardware.PhoneHome(pb.PhoneHomeRequest(id=ID))).revision == 2
    await resources.hardware.Delete(pb.DeleteRequest(id=ID))
    assert (await refused(resources.hardware.PhoneHome(pb.PhoneHomeRequest(id=ID)))).code is grpc.StatusCode.NOT_FOUND


async def test_events_name_the_caller(resources: Resources) -> None:
    await resources.hardware.Push(pb.PushRequest(data=machine()), metadata=(("x-tinkwell-actor", "ci"),))
    await resources.hardware.Delete(pb.DeleteRequest(id=ID))
    assert [event["actor"] for event in await resources.events()] == ["ci", "anonymous"]


@pytest.mark.parametrize("size", [7_507, 500_000])
async def test_metadata_of_any_size_below_the_limit_is_pushed_changed_deleted_and_in_its_events_whole(
    resources: Resources, size: int
) -> None:
    await push(resources, machine(metadata=json.dumps({"x": "a" * size})))
    await push(resources, machine(metadata=json.dumps({"x": '"' * size})))
    await resources.hardware.Delete(pb.DeleteRequest(id=ID))
    events = await resources.events()
    assert [event["event_type"] for event in events] == ["CREATED", "UPDATED", "DELETED"]
    assert [event["data"]["metadata"]["x"] for event in events] == ["a" * size, '"' * size, '"' * size]


async def test_metadata_that_is_too_large_as_it_is_stored_is_refused_with_both_sizes(resources: Resources) -> None:
    limit = 1024 * 1024
    bare = machine(mac="", ip="", metadata="{}")
    del bare.network.interfaces[:]
    overhead = len('{"x": ""}') + len("{}")
    bare.metadata = json.dumps({"x": "a" * (limit - overhead)})
    assert (await push(resources, bare)).version == 1
    assert (await resources.hardware.ByID(pb.ByIDRequest(id=ID))).metadata == bare.metadata
    # One byte less as it is sent, because it has no space, and one more as it is stored.
    bare.metadata = json.dumps({"x": "a" * (limit - overhead + 1)}, separators=(",", ":"))
    told = await refused(push(resources, bare))
    assert summary(told) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    assert told.fields == {
        "data.metadata": "stored, the metadata has 1,048,575 bytes and the network 2; "
        "at most 1,048,576 are allowed in all"
    }
    # Small as it is sent, and sixty megabytes as it is stored.
    bare.metadata = f'{{"x":[{",".join(["1e307"] * 150_000)}]}}'
    told = await refused(push(resources, bare))
    assert list(told.fields) == ["data.metadata"]
    assert (await resources.hardware.ByID(pb.ByIDRequest(id=ID))).version == 1


async def test_one_of_fifty_wins_an_address_and_the_others_learn_who(resources: Resources) -> None:
    ids = [str(uuid.uuid4()) for _ in range(50)]

    async def attempt(hardware_id: str) -> str | Refusal:
        try:
            await push(resources, machine(hardware_id, ip=""))
        except grpc.aio.AioRpcError as error:
            return refusal(error)
        return hardware_id

    results = await asyncio.gather(*(attempt(hardware_id) for hardware_id in ids))
    winners = [result for result in results if isinstance(result, str)]
    losers = [result for result in results if not isinstance(result, str)]
    assert len(winners) == 1
    assert {summary(told) for told in losers} == {("ALREADY_EXISTS", "ALREADY_EXISTS")}
    assert {told.metadata["taken_by"] for told in losers} == set(winners)
    assert await all_ids(resources) == winners
    assert len(await resources.events()) == 1


async def test_machines_that_swap_addresses_crosswise_never_see_a_deadlock(resources: Resources) -> None:
    macs = [f"52:54:00:00:00:{index:02x}" for index in range(20)]

    def crossed(hardware_id: str, order: list[str]) -> pb.Hardware:
        interfaces = [pb.Interface(dhcp=pb.DHCP(mac=mac)) for mac in order]
        return pb.Hardware(id=hardware_id, network=pb.Network(interfaces=interfaces))

    async def attempt(hardware_id: str, order: list[str]) -> str:
        try:
            await push(resources, crossed(hardware_id, order))
        except grpc.aio.AioRpcError as error:
            return error.code().name
        return "OK"

    results = await asyncio.gather(
        *(attempt(str(uuid.uuid4()), macs if index % 2 else macs[::-1]) for index in range(8))
    )
    assert sorted(results) == ["ALREADY_EXISTS"] * 7 + ["OK"]


async def test_many_pushes_of_one_machine_at_once_count_its_versions_without_a_gap(resources: Resources) -> None:
    answers = await asyncio.gather(
        *(push(resources, machine(metadata=json.dumps({"n": index}))) for index in range(50))
    )
    assert sorted(answer.version for answer in answers) == list(range(1, 51))
    assert sorted(answer.revision for answer in answers) == [event["revision"] for event in await resources.events()]


async def test_one_of_many_conditional_pushes_wins(resources: Resources) -> None:
    async def attempt(index: int) -> str:
        try:
            await push(resources, machine(metadata=json.dumps({"n": index})), expected=0)
        except grpc.aio.AioRpcError as error:
            return error.code().name
        return "OK"

    assert sorted(await asyncio.gather(*map(attempt, range(20)))) == ["ABORTED"] * 19 + ["OK"]


@pytest.mark.parametrize(("metadata", "version"), [('{"a": 1}', 1), ('{"a": 2}', 2)])
async def test_a_push_that_meets_the_creation_of_its_machine_finds_it(
    resources: Resources, database_url: str, metadata: str, version: int
) -> None:
    await push(resources, pb.Hardware(id=OTHER_ID, metadata='{"a": 1}'))
    creator = await asyncpg.connect(database_url)

    async def both_wait() -> bool:
        [row] = await resources.fetch(LOCK_WAITS)
        return bool(row[0] == 2)

    async with creator.transaction():
        await creator.execute(CREATE_LIKE, ID, OTHER_ID)
        free = asyncio.create_task(push(resources, pb.Hardware(id=ID, metadata=metadata)))
        bound = asyncio.create_task(refused(push(resources, pb.Hardware(id=ID, metadata=metadata), expected=0)))
        await eventually(both_wait)
    await creator.close()
    answer = await free
    assert (answer.version, answer.revision > 0) == (version, version == 2)
    assert summary(await bound) == ("ABORTED", "LOST_RACE")
