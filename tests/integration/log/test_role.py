"""A server that does not own the schema works with the grants that the documentation names, and with those alone."""

import functools
import re
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

import tinkwell.client
from support import server as servers

DOCUMENT = Path(__file__).parents[3] / "docs" / "event-log.md"
TEMPLATE = """version: "0.1"
name: t
tasks: [{name: t, worker: "{{.device_1}}", actions: [{name: a, image: i}]}]
"""
MAC = "52:54:00:10:00:03"


def grants() -> str:
    """The statements as operators are told to run them."""
    found = re.search(r"```sql\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
async def role(database_url: str) -> AsyncIterator[str]:
    """A role with the documented grants; whoever connects to the database acts as this role."""
    name = f"server_{uuid.uuid4().hex}"
    owner = await asyncpg.connect(database_url)
    try:
        await owner.execute(grants().replace("tinkwell_server", name))
        await owner.execute(f"ALTER DATABASE {await owner.fetchval('SELECT current_database()')} SET role = {name}")
        yield name
        await owner.execute(f"ALTER DATABASE {await owner.fetchval('SELECT current_database()')} RESET role")
        await owner.execute(f"DROP OWNED BY {name}")
        await owner.execute(f"DROP ROLE {name}")
    finally:
        await owner.close(timeout=5)


async def test_a_server_works_with_the_documented_grants(database_url: str, role: str) -> None:
    async with servers.running(database_url) as server, tinkwell.client.connect(server.address) as client:
        machine = str(uuid.uuid4())
        watch = client.events.watch(from_revision=1)
        async with watch:
            await client.hardware.push({"id": machine, "network": {"interfaces": [{"dhcp": {"mac": MAC}}]}})
            await client.hardware.phone_home(id=machine, data={"ready": True})
            template = await client.templates.create(TEMPLATE)
            await client.workflows.create(template.id, {"device_1": MAC})
            await client.hardware.delete(machine)
            await client.events.publish("rack.door_opened")
            await client.events.position("mailer", claim=True)
            names = [(await anext(watch)).name for _ in range(7)]
    assert names == [
        "hardware.created",
        "hardware.phone_home",
        "template.created",
        "workflow.created",
        "action.created",
        "hardware.deleted",
        "rack.door_opened",
    ]


async def test_the_log_is_replayed_to_a_role_that_may_not_ask_for_the_identity_of_the_cluster(
    database_url: str, role: str
) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(f"SET ROLE NONE; REVOKE EXECUTE ON FUNCTION log_identity FROM {role}")
        await connection.execute("SELECT record_event('CUSTOM', NULL, 'CUSTOM', 'rack.opened', 0, '{}')")
    finally:
        await connection.close(timeout=5)
    async with (
        servers.running(database_url) as server,
        tinkwell.client.connect(server.address) as client,
        client.events.watch(from_revision=1) as watch,
    ):
        assert (await anext(watch)).name == "rack.opened"


async def test_a_workflow_is_run_under_a_lease_with_the_documented_grants(database_url: str, role: str) -> None:
    async with servers.running(database_url) as server, tinkwell.client.connect(server.address) as client:
        machine = str(uuid.uuid4())
        await client.hardware.push({"id": machine, "network": {"interfaces": [{"dhcp": {"mac": MAC}}]}})
        template = await client.templates.create(TEMPLATE)
        first, second = [(await client.workflows.create(template.id, {"device_1": MAC})).id for _ in range(2)]
        lease, heir = [await client.work.acquire("owner", "engine") for _ in range(2)]
        assert lease.token < heir.token
        report = functools.partial(client.workflows.report, task_name="t", action_name="a", worker_id=machine)
        await report(first, state="RUNNING", lease_token=heir.token)
        await client.workflows.cancel(first)
        await client.work.renew(heir.token)
        await client.work.release(heir.token)
        # The machine of a dead owner is taken.
        lease = await client.work.acquire("another owner", "engine")
        await report(second, state="RUNNING", lease_token=lease.token)
        await client.workflows.cancel(second)
        await client.work.release(lease.token, workflow_id=second)
        assert (await client.workflows.expire(second)).revision == 0


async def test_the_documented_grants_let_nobody_forge_events(database_url: str, role: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        assert await connection.fetchval("SELECT current_user") == role
        for forgery in (
            "INSERT INTO events (name) VALUES ('a.b')",
            "DELETE FROM events",
            "SELECT nextval('events_revision')",
            "SELECT record_event('CUSTOM', NULL, 'CUSTOM', 'a.b', 0, '{}')",
            "UPDATE event_history SET oldest_revision = 2",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(forgery)
    finally:
        await connection.close(timeout=5)
