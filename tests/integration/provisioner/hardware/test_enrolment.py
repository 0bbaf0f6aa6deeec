"""Machines that announce themselves get the workflow of the default template, once, whatever is restarted."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator

import pytest

from support.waiting import eventually
from tinkwell.client import Client, errors
from tinkwell.provisioner.hardware import enrolment

TEMPLATE = """\
version: "0.1"
name: welcome
tasks:
  - {name: install, worker: "{{.device_1}}", actions: [{name: greet, image: greet}]}
"""


@contextlib.asynccontextmanager
async def enrolling(client: Client, template: str = "welcome") -> AsyncIterator[None]:
    """Enrol machines until the block ends."""
    task = asyncio.ensure_future(enrolment.Enrolment(client, template, commit_seconds=0).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            await task


async def machine(client: Client, number: int, *, has_mac: bool = True) -> str:
    id_ = str(uuid.uuid4())
    address = {"address": f"192.0.2.{number}"}
    dhcp = {"mac": f"52:54:00:10:00:{number:02x}", "ip": address} if has_mac else {"ip": address}
    await client.hardware.push({"id": id_, "network": {"interfaces": [{"dhcp": dhcp}]}})
    return id_


async def workflows(client: Client) -> dict[str, object]:
    """The device of each workflow, by its id."""
    return {workflow.id: workflow.hardware["device_1"] async for workflow in client.workflows.list()}


async def handled(client: Client, revision: int, template: str = "welcome") -> bool:
    try:
        return (await client.events.position(f"enrolment-{template}")).revision >= revision
    except errors.NotFound:
        return False


async def call(client: Client, id_: str) -> None:
    """Phone home, and wait until that has been dealt with."""
    change = await client.hardware.phone_home(id=id_)
    await eventually(lambda: handled(client, change.revision), deadline_seconds=30)


async def test_a_machine_without_any_workflow_gets_one_when_it_calls(client: Client) -> None:
    await client.templates.create(TEMPLATE)
    with_mac, without, planned, silent = [await machine(client, n, has_mac=n != 2) for n in range(1, 5)]
    own = (await client.workflows.create("welcome", {"device_1": planned})).id
    async with enrolling(client):
        for id_ in (with_mac, without, planned, with_mac):
            await call(client, id_)
    ids = {id_: enrolment.workflow_id_of(id_, "welcome") for id_ in (with_mac, without, silent)}
    assert await workflows(client) == {
        own: planned,
        ids[with_mac]: "52:54:00:10:00:01",
        ids[without]: "192.0.2.2",
    }
    assert [action.worker_id for action in await client.workflows.actions(ids[with_mac])] == [with_mac]


async def test_several_provisioners_make_one_workflow_for_a_machine(client: Client) -> None:
    await client.templates.create(TEMPLATE)
    machines = [await machine(client, number) for number in range(1, 6)]
    async with enrolling(client), enrolling(client), enrolling(client):
        for id_ in machines:
            await call(client, id_)
    assert set(await workflows(client)) == {enrolment.workflow_id_of(id_, "welcome") for id_ in machines}


async def test_calls_that_come_while_nobody_listens_are_dealt_with_later(client: Client) -> None:
    await client.templates.create(TEMPLATE)
    first, second = [await machine(client, number) for number in (1, 2)]
    async with enrolling(client):
        await call(client, first)
    missed = await client.hardware.phone_home(id=second)
    # What was made and deleted is not made again, whoever asks.
    await client.workflows.delete(enrolment.workflow_id_of(first, "welcome"))
    async with enrolling(client):
        await eventually(lambda: handled(client, missed.revision), deadline_seconds=30)
        await call(client, first)
    assert set(await workflows(client)) == {enrolment.workflow_id_of(second, "welcome")}


async def test_what_cannot_be_made_is_told_and_the_next_call_is_another_chance(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    id_ = await machine(client, 1)
    async with enrolling(client):
        await call(client, id_)
        assert "a machine gets no workflow" in caplog.text
        await client.templates.create(TEMPLATE)
        await call(client, id_)
    assert set(await workflows(client)) == {enrolment.workflow_id_of(id_, "welcome")}


@pytest.mark.parametrize(
    ("data", "address"),
    [
        ({}, "id"),
        ({"network": 7}, "id"),
        ({"network": {"interfaces": {"a": 1}}}, "id"),
        ({"network": {"interfaces": [7, {"dhcp": 7}, {"dhcp": {"mac": 7, "ip": "x"}}]}}, "id"),
        ({"network": {"interfaces": [{"dhcp": {"ip": {"address": "192.0.2.1"}}}, {"dhcp": {"mac": "m"}}]}}, "m"),
        ({"network": {"interfaces": [{"dhcp": {"ip": {"address": "192.0.2.1"}}}]}}, "192.0.2.1"),
    ],
)
def test_a_template_is_given_the_best_known_address(data: dict[str, object], address: str) -> None:
    assert enrolment.address_of("id", data) == address
