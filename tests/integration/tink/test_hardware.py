"""The hardware commands of Tinkerbell's command line, and what its other services ask, call by call."""

import asyncio
import json
import uuid

import asyncpg
import grpc
import pytest

import tinkwell.client
from support.tink import FIRST_MAC, FIRST_WORKER, SECOND_MAC, SECOND_WORKER, Tools, code
from tinkwell.api.tink import hardware_pb2 as pb

ABSENT = "7d3c2b1a-0f1e-4d2c-8b3a-495867768594"
# It would end the text that it is put into, and add a condition of its own.
QUOTE = "\"}}]}}' OR '1'='1"


def machine(hardware_id: str, *macs: str) -> pb.Hardware:
    made = pb.Hardware(id=hardware_id)
    for mac in macs:
        made.network.interfaces.add().dhcp.mac = mac
    return made


async def test_a_pushed_machine_is_found_by_id_mac_and_ip(tools: Tools) -> None:
    ip = {"address": "192.168.56.43", "netmask": "255.255.255.0", "gateway": "192.168.56.1"}
    netboot = {"allow_pxe": True, "allow_workflow": True, "osie": {"base_url": "http://192.168.56.4/osie"}}
    dhcp = {"mac": FIRST_MAC.upper(), "hostname": "node", "lease_time": 86400, "uefi": True, "arch": "x86_64", "ip": ip}
    metadata = json.dumps({"facility": {"facility_code": "lab"}})
    await tools.push(metadata=metadata, network={"interfaces": [{"dhcp": dhcp, "netboot": netboot}]})
    for find, request in (
        (tools.hardware.ByID, pb.GetRequest(id=FIRST_WORKER)),
        (tools.hardware.ByMAC, pb.GetRequest(mac=FIRST_MAC)),
        (tools.hardware.ByIP, pb.GetRequest(ip="192.168.56.43")),
    ):
        found = await find(request, timeout=30)
        assert found.id == FIRST_WORKER
        assert json.loads(found.metadata) == json.loads(metadata)
        (interface,) = found.network.interfaces
        assert interface.dhcp.mac == FIRST_MAC
        assert (interface.dhcp.lease_time, interface.dhcp.uefi, interface.dhcp.hostname) == (86400, True, "node")
        assert interface.dhcp.ip.gateway == "192.168.56.1"
        assert interface.netboot.allow_pxe
        assert interface.netboot.osie.base_url == "http://192.168.56.4/osie"


@pytest.mark.parametrize(
    ("field", "asked"),
    [
        ("mac", "52:54:00:10:00:0A"),
        ("mac", "52-54-00-10-00-0a"),
        ("mac", "5254.0010.000A"),
        ("ip", "2001:0DB8:0000:0000:0000:0000:0000:002B"),
        ("ip", "2001:db8::0:2b"),
        ("ip", "::ffff:192.168.56.43"),
    ],
)
async def test_the_interface_that_was_asked_for_has_the_address_as_it_was_asked_for(
    tools: Tools, field: str, asked: str
) -> None:
    # The command line shows the interface whose address equals its argument byte by byte.
    interfaces = [
        {"dhcp": {"mac": FIRST_MAC, "ip": {"address": "2001:db8::1"}}},
        {"dhcp": {"mac": "52:54:00:10:00:0a", "ip": {"address": "2001:db8::2b"}}},
        {"dhcp": {"mac": "52:54:00:10:00:0b", "ip": {"address": "192.168.56.43"}}},
    ]
    await tools.push(network={"interfaces": interfaces})
    find = tools.hardware.ByMAC if field == "mac" else tools.hardware.ByIP
    found = await find(pb.GetRequest(**{field: asked}), timeout=30)
    shown = [each.dhcp.mac if field == "mac" else each.dhcp.ip.address for each in found.network.interfaces]
    assert shown.count(asked) == 1
    # What was not asked for is as it is stored, and so is what others see.
    assert {FIRST_MAC, "2001:db8::1"} & set(shown)
    (listed,) = [machine async for machine in tools.hardware.All(pb.Empty(), timeout=30)]
    assert [each.dhcp.mac[-2:] for each in listed.network.interfaces] == ["03", "0a", "0b"]
    assert listed.network.interfaces[1].dhcp.ip.address == "2001:db8::2b"


async def test_parts_that_the_command_line_takes_for_granted_are_always_there(tools: Tools) -> None:
    await tools.push()
    await tools.push(SECOND_WORKER, SECOND_MAC, network={"interfaces": [{}, {"netboot": {"allow_pxe": True}}]})
    listed = [machine async for machine in tools.hardware.All(pb.Empty(), timeout=30)]
    assert [machine.id for machine in listed] == [FIRST_WORKER, SECOND_WORKER]
    for machine in (*listed, await tools.hardware.ByMAC(pb.GetRequest(mac=FIRST_MAC), timeout=30)):
        assert machine.HasField("network")
        for interface in machine.network.interfaces:
            assert interface.HasField("dhcp")
            assert interface.dhcp.HasField("ip")


async def test_metadata_is_taken_in_each_form_that_the_command_line_sends(tools: Tools) -> None:
    cases: list[tuple[str, dict[str, int]]] = [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("null", {}),
    ]
    for sent, stored in cases:
        await tools.push(metadata=sent)
        assert json.loads((await tools.hardware.ByID(pb.GetRequest(id=FIRST_WORKER), timeout=30)).metadata) == stored


async def test_deleting_what_is_not_there_says_not_found_each_time(tools: Tools) -> None:
    await tools.push()
    await tools.hardware.Delete(pb.DeleteRequest(id=FIRST_WORKER), timeout=30)
    for hardware_id in (FIRST_WORKER, SECOND_WORKER):
        assert await code(tools.hardware.Delete(pb.DeleteRequest(id=hardware_id))) is grpc.StatusCode.NOT_FOUND


async def test_bad_requests_have_the_status_that_says_what_is_wrong(tools: Tools) -> None:
    await tools.push()
    taken = machine(ABSENT, FIRST_MAC)
    second = machine(ABSENT, "", FIRST_MAC)
    many = machine(ABSENT, *[""] * 1_000)
    # Its own address before the other's does not hide it.
    await tools.push(SECOND_WORKER, SECOND_MAC)
    own_and_taken = machine(SECOND_WORKER, SECOND_MAC, FIRST_MAC)
    for call, expected in (
        (tools.hardware.Push(pb.PushRequest()), grpc.StatusCode.INVALID_ARGUMENT),
        (tools.hardware.Push(pb.PushRequest(data=pb.Hardware())), grpc.StatusCode.INVALID_ARGUMENT),
        (tools.hardware.Push(pb.PushRequest(data=pb.Hardware(id="one"))), grpc.StatusCode.INVALID_ARGUMENT),
        (
            tools.hardware.Push(pb.PushRequest(data=pb.Hardware(id=SECOND_WORKER, metadata="{"))),
            grpc.StatusCode.INVALID_ARGUMENT,
        ),
        (tools.hardware.Push(pb.PushRequest(data=many)), grpc.StatusCode.INVALID_ARGUMENT),
        (tools.hardware.Push(pb.PushRequest(data=taken)), grpc.StatusCode.ALREADY_EXISTS),
        (tools.hardware.Push(pb.PushRequest(data=second)), grpc.StatusCode.ALREADY_EXISTS),
        (tools.hardware.Push(pb.PushRequest(data=own_and_taken)), grpc.StatusCode.ALREADY_EXISTS),
        (tools.hardware.ByID(pb.GetRequest(id=ABSENT)), grpc.StatusCode.NOT_FOUND),
        (tools.hardware.ByID(pb.GetRequest(id="one")), grpc.StatusCode.INVALID_ARGUMENT),
        (tools.hardware.ByMAC(pb.GetRequest(mac="52:54:00:10:00:05")), grpc.StatusCode.NOT_FOUND),
        (tools.hardware.ByMAC(pb.GetRequest(mac=QUOTE)), grpc.StatusCode.INVALID_ARGUMENT),
        (tools.hardware.ByIP(pb.GetRequest(ip="10.0.0.1")), grpc.StatusCode.NOT_FOUND),
        (tools.hardware.ByIP(pb.GetRequest(ip=QUOTE)), grpc.StatusCode.INVALID_ARGUMENT),
        (tools.hardware.Delete(pb.DeleteRequest()), grpc.StatusCode.INVALID_ARGUMENT),
    ):
        assert await code(call) is expected


async def test_metadata_of_any_size_is_stored(tools: Tools) -> None:
    metadata = json.dumps({"blob": '"' * 100_000})
    await tools.push(metadata=metadata)
    found = await tools.hardware.ByID(pb.GetRequest(id=FIRST_WORKER), timeout=30)
    assert json.loads(found.metadata) == json.loads(metadata)


async def test_the_deprecated_watch_sends_a_machine_and_its_changes(tools: Tools) -> None:
    await tools.push()
    watch = tools.hardware.DeprecatedWatch(pb.GetRequest(mac=FIRST_MAC), timeout=60)
    changes = aiter(watch)
    assert (await anext(changes)).metadata == "{}"
    await tools.push(metadata='{"a": 1}')
    assert json.loads((await anext(changes)).metadata) == {"a": 1}
    watch.cancel()
    assert await code(tools.hardware.DeprecatedWatch(pb.GetRequest(id=SECOND_WORKER)).read()) is (
        grpc.StatusCode.NOT_FOUND
    )


async def test_the_deprecated_watch_sends_no_state_again_because_its_event_comes_late(tools: Tools) -> None:
    """A change is answered before its event has come by, so a watch from now may still receive the event."""
    writer = await asyncpg.connect(tools.server.database_url)
    writing = writer.transaction()
    await writing.start()
    # The event has its revision, and every later one waits until it is committed.
    await writer.execute("INSERT INTO hardware (id) VALUES ($1)", uuid.UUID(SECOND_WORKER))
    await writer.execute("SET CONSTRAINTS ALL IMMEDIATE")
    await tools.push()
    watch = tools.hardware.DeprecatedWatch(pb.GetRequest(id=FIRST_WORKER), timeout=60)
    changes = aiter(watch)
    told = [await anext(changes)]
    await writing.commit()
    await writer.close(timeout=5)
    async with tinkwell.client.connect(tools.server.address) as client, asyncio.timeout(60):
        async for event in client.hardware.watch(resource_id=FIRST_WORKER):
            assert event.version == 1  # it has come by now
            break
    for number in range(1, 6):
        await tools.push(metadata=f'{{"a": {number}}}')
        told.append(await anext(changes))
    watch.cancel()
    assert [json.loads(machine.metadata) for machine in told] == [{}, *({"a": number} for number in range(1, 6))]
