"""Machines through the client."""

import uuid

import pytest

from tinkwell.client import Client, EventType, Hardware, errors, testing

MAC = "52:54:00:10:00:03"


def machine(mac: str = MAC, ip: str = "192.168.56.43") -> dict[str, object]:
    dhcp = {"mac": mac, "ip": {"address": ip}}
    return {"id": str(uuid.uuid4()), "metadata": {"a": 1}, "network": {"interfaces": [{"dhcp": dhcp}]}}


async def test_a_pushed_machine_is_found_by_id_mac_and_ip(client: Client) -> None:
    pushed = machine()
    change = await client.hardware.push(pushed)
    assert (change.revision, change.version) == (1, 1)
    found = await client.hardware.by_id(str(pushed["id"]))
    assert (found.metadata, found.network, found.version) == (pushed["metadata"], pushed["network"], 1)
    assert await client.hardware.by_mac(MAC.upper()) == found
    assert await client.hardware.by_ip("192.168.56.43") == found
    assert [each async for each in client.hardware.all()] == [found]


async def test_an_unknown_machine_is_not_found(client: Client) -> None:
    with pytest.raises(errors.NotFound) as caught:
        await client.hardware.by_mac(MAC)
    assert (caught.value.resource_type, caught.value.resource_id) == ("HARDWARE", MAC)


async def test_a_push_may_expect_a_version(client: Client) -> None:
    pushed = machine()
    await client.hardware.push(pushed, expected_version=0)
    with pytest.raises(errors.LostRace):
        await client.hardware.push(pushed, expected_version=0)
    assert (await client.hardware.push(pushed | {"metadata": {}}, expected_version=1)).version == 2


async def test_a_push_that_changes_nothing_is_no_event(server: testing.FakeServer, client: Client) -> None:
    pushed = machine()
    await client.hardware.push(pushed)
    again = await client.hardware.push(pushed)
    assert (again.revision, again.version, server.log.tail) == (0, 1, 1)


async def test_a_taken_address_names_its_owner(client: Client) -> None:
    first, second = machine(), machine(ip="192.168.56.44")
    await client.hardware.push(first)
    with pytest.raises(errors.AlreadyExists) as caught:
        await client.hardware.push(second)
    assert caught.value.metadata["taken_by"] == first["id"]


async def test_a_deleted_machine_that_is_pushed_again_goes_on_counting(client: Client) -> None:
    pushed = machine()
    await client.hardware.push(pushed)
    assert (await client.hardware.delete(str(pushed["id"]))).revision == 2
    assert [each async for each in client.hardware.all()] == []
    assert (await client.hardware.push(pushed)).version == 3


@pytest.mark.parametrize("key", ["id", "mac", "ip"])
async def test_a_phone_call_is_an_event(server: testing.FakeServer, client: Client, key: str) -> None:
    stored = server.put(Hardware.from_json(machine()))
    address = {"id": stored.id, "mac": MAC, "ip": "192.168.56.43"}[key]
    change = await client.hardware.phone_home(**{key: address}, data={"uptime": 5})
    event = server.log.events[-1]
    assert (event.event_type, event.revision) == (EventType.HARDWARE_PHONE_HOME, change.revision)
    assert (event.resource_id, event.data["phone_home"]) == (stored.id, {"uptime": 5})


@pytest.mark.parametrize("machines", [{}, {"id": "m1", "mac": MAC}])
async def test_a_phone_call_comes_from_exactly_one_machine(client: Client, machines: dict[str, str]) -> None:
    with pytest.raises(errors.InvalidField, match="id or mac or ip: exactly one is needed"):
        await client.hardware.phone_home(**machines)


@pytest.mark.parametrize("bad", [5, None, b"m1", ["m1"]])
async def test_an_id_of_a_wrong_type_is_named_before_anything_is_sent(
    server: testing.FakeServer, client: Client, bad: object
) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        await client.hardware.by_id(bad)  # type: ignore[arg-type]
    assert [violation.field for violation in caught.value.violations] == ["id"]
    assert server.calls == []
