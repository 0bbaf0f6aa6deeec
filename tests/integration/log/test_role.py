"""Roles that own nothing: servers work with what an upgrade grants them, people with what they have on their tables."""

import functools
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

import tinkwell.client
from support import role as roles
from support import server as servers
from support.release_provisioner import MANIFEST, PLAN, REMOVAL, Provisioner
from support.role import OWNER, PERSON, SERVER
from tinkwell.client import StepLogLine
from tinkwell.core.event.kinds import State
from tinkwell.core.release.report import FinishReport, step_id
from tinkwell.server.database import schema

TEMPLATE = """version: "0.1"
name: t
tasks: [{name: t, worker: "{{.device_1}}", actions: [{name: a, image: i}]}]
"""
MAC = "52:54:00:10:00:03"


@dataclass(frozen=True)
class Actor:
    """A role that owns nothing, and its connection to the database that `owner` is connected to as its owner."""

    name: str
    url: str
    connection: asyncpg.Connection
    owner: asyncpg.Connection


async def acting(database_url: str, name: str) -> AsyncIterator[Actor]:
    await roles.create(database_url, name)
    url = roles.url_of(database_url, name)
    owner, connection = await asyncpg.connect(database_url), await asyncpg.connect(url)
    yield Actor(name, url, connection, owner)
    await connection.close(timeout=5)
    await owner.execute(f"DROP OWNED BY {roles.quoted(name)}")
    await owner.close(timeout=5)


@pytest.fixture
async def server_role(database_url: str) -> AsyncIterator[Actor]:
    """A role that an upgrade has given what a server needs."""
    async for actor in acting(database_url, SERVER):
        await schema.upgrade(database_url, server_role=SERVER)
        yield actor


@pytest.fixture
async def person(database_url: str) -> AsyncIterator[Actor]:
    """A role that may change resources, and nothing else."""
    async for actor in acting(database_url, PERSON):
        await actor.owner.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON hardware, template, workflow, action, release, release_revision,"
            f" operation, node, step TO {roles.quoted(PERSON)}"
        )
        yield actor


async def test_a_server_works_with_what_an_upgrade_grants(server_role: Actor) -> None:
    async with (
        servers.running_as(server_role.url) as server,
        tinkwell.client.connect(server.address) as client,
    ):
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
    server_role: Actor,
) -> None:
    await server_role.owner.execute(f"REVOKE EXECUTE ON FUNCTION log_identity FROM {roles.quoted(SERVER)}")
    await server_role.owner.execute("SELECT write_event('CUSTOM', NULL, NULL, 'CUSTOM', 0, '{}', 'rack.opened')")
    async with (
        servers.running_as(server_role.url) as server,
        tinkwell.client.connect(server.address) as client,
        client.events.watch(from_revision=1) as watch,
    ):
        assert (await anext(watch)).name == "rack.opened"


async def test_a_workflow_is_run_under_a_lease_with_what_an_upgrade_grants(server_role: Actor) -> None:
    async with (
        servers.running_as(server_role.url) as server,
        tinkwell.client.connect(server.address) as client,
    ):
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


async def test_a_release_is_brought_about_and_removed_with_what_an_upgrade_grants(server_role: Actor) -> None:
    async with (
        servers.running_as(server_role.url) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        provisioner = await Provisioner.enter(client)
        for begin, plan in (
            (functools.partial(client.releases.apply, manifest=MANIFEST), PLAN),
            (client.releases.uninstall, REMOVAL),
        ):
            handle = await begin("shop")
            await provisioner.begin(handle.id, plan)
            for node in plan.nodes:
                await (provisioner.install if plan is PLAN else provisioner.remove)(handle.id, node.path)
            await provisioner.report(handle.id, FinishReport(state=State.SUCCEEDED))
            await client.releases.append_logs(handle.id, [StepLogLine(step_id(handle.id, "db", 1), 1, 1, "hello")])
        assert [release async for release in client.releases.list()] == []
        await server_role.owner.execute("UPDATE release SET deleted_at = deleted_at - interval '2 days'")
        assert [operation async for operation in client.releases.unfinished()] == []
    assert await server_role.owner.fetchval("SELECT count(*) FROM release") == 0


async def test_a_server_owns_nothing_and_forges_no_events(server_role: Actor) -> None:
    assert (
        await server_role.owner.fetch(
            "SELECT FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid AND r.rolname = $1 WHERE d.deptype = 'o'",
            SERVER,
        )
        == []
    )
    for forgery in (
        "INSERT INTO events (name) VALUES ('a.b')",
        "DELETE FROM events",
        "SELECT nextval('events_revision')",
        "SELECT write_event('CUSTOM', NULL, NULL, 'CUSTOM', 0, '{}', 'a.b')",
        "UPDATE event_history SET oldest_revision = 2",
        "SELECT channel FROM bell_secret",
        "DELETE FROM event_history",
        "TRUNCATE hardware",
        "CREATE TABLE public.extra ()",
        "UPDATE schema_release SET oldest_release = '99'",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await server_role.connection.execute(forgery)


async def test_a_role_that_does_not_exist_is_refused_in_one_sentence_and_nothing_is_done(
    database_url: str, empty_database_url: str
) -> None:
    for url in (database_url, empty_database_url):
        before = await schema.current(url)
        for name in ("absent", "public", 'x"; DROP TABLE hardware; --', ""):
            with pytest.raises(schema.Refused, match=r"^there is no role .*: create it, or name the one"):
                await schema.upgrade(url, server_role=name)
        assert await schema.current(url) == before


async def test_servers_of_a_run_connect_as_the_role_that_the_run_names(
    server: servers.Server, client: tinkwell.client.Client
) -> None:
    await client.wait_ready()
    owner = await asyncpg.connect(server.database_url)
    found = await owner.fetch(
        "SELECT DISTINCT usename FROM pg_stat_activity"
        " WHERE application_name LIKE 'tinkwell%' AND datname = current_database()"
    )
    expected = roles.SERVER_ROLE or await owner.fetchval("SELECT current_user")
    await owner.close(timeout=5)
    assert [row["usename"] for row in found] == [expected]


async def test_an_owner_that_may_only_create_tables_upgrades_and_grants(empty_database_url: str) -> None:
    names = (OWNER, SERVER)
    for name in names:
        await roles.create(empty_database_url, name)
    url, server_url = (roles.url_of(empty_database_url, name) for name in names)
    superuser = await asyncpg.connect(empty_database_url)
    await superuser.execute('GRANT CREATE ON SCHEMA public TO "an owner"')
    await schema.upgrade(url, server_role=SERVER)
    async with (
        servers.running_as(server_url) as server,
        tinkwell.client.connect(server.address) as client,
        client.events.watch(from_revision=1) as watch,
    ):
        await client.templates.create(TEMPLATE)
        assert (await anext(watch)).name == "template.created"
    await superuser.execute("; ".join(f"DROP OWNED BY {roles.quoted(name)}" for name in names))
    await superuser.close(timeout=5)


async def change(connection: asyncpg.Connection) -> None:
    """Change resources of all kinds in all ways, in transactions of one statement and of several."""
    hardware, template, workflow, action, release = (uuid.UUID(int=number) for number in range(1, 6))
    network = json.dumps({"interfaces": [{"dhcp": {"mac": MAC}}]})
    await connection.execute("INSERT INTO hardware (id, network) VALUES ($1, $2)", hardware, network)
    await connection.execute("UPDATE hardware SET metadata = '{\"rack\": 1}' WHERE id = $1", hardware)
    async with connection.transaction():
        await connection.execute("INSERT INTO template (id, name, data) VALUES ($1, 'a', 'b')", template)
        await connection.execute("UPDATE template SET name = 'c'")
    await connection.execute(
        "INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions)"
        " VALUES ($1, $2, 'c', '{}', '-', 1)",
        workflow,
        template,
    )
    await connection.execute(
        "INSERT INTO action (id, workflow_id, action_index, task_name, name, image, worker_id)"
        " VALUES ($1, $2, 0, 't', 'a', 'i', $3)",
        action,
        workflow,
        hardware,
    )
    for state in ("RUNNING", "SUCCEEDED"):
        await connection.execute(f"UPDATE workflow SET state = '{state}'")
        await connection.execute(f"UPDATE action SET state = '{state}', attempt = 1")
    await change_release(connection, release)
    for refused in (
        "UPDATE workflow SET state = 'PENDING'",
        "UPDATE action SET state = 'PENDING'",
        "UPDATE release SET state = 'UNINSTALLED'",
        "UPDATE release_revision SET state = 'SUPERSEDED'",
        "TRUNCATE hardware",
    ):
        with pytest.raises(asyncpg.PostgresError):
            await connection.execute(refused)
    for table in ("action", "workflow", "template", "hardware", "step", "release"):
        await connection.execute(f"DELETE FROM {table}")


async def change_release(connection: asyncpg.Connection, id_: uuid.UUID) -> None:
    """Change a release and all that is told of it."""
    await connection.execute("INSERT INTO release (id, namespace, name, operation_id) VALUES ($1, 'n', 'a', $1)", id_)
    await connection.execute(
        "INSERT INTO operation (id, release_id, kind, request, options, former_state, deadline_at, actor)"
        " VALUES ($1, $1, 'INSTALL', '{}', '{}', 'FAILED', now(), 'me')",
        id_,
    )
    await connection.execute(
        "INSERT INTO node (id, operation_id, release_id, path, task, ordinal, batch)"
        " VALUES ($1, $1, $1, 'db', 'INSTALL', 0, 1)",
        id_,
    )
    await connection.execute(
        "INSERT INTO step (id, node_id, operation_id, release_id, path, ordinal, kind)"
        " VALUES ($1, $1, $1, $1, 'db', 1, 'ACTION')",
        id_,
    )
    await connection.execute(
        "INSERT INTO release_revision (release_id, revision, source, manifest, late, plan, operation_id)"
        " VALUES ($1, 1, '{}', '{}', '{}', '{}', $1)",
        id_,
    )
    for table, states in (
        ("operation", ("RUNNING", "SUCCEEDED")),
        ("node", ("INSTALLING", "READY")),
        ("step", ("RUNNING", "PENDING", "RUNNING", "SUCCEEDED")),
        ("release_revision", ("DEPLOYED",)),
        ("release", ("DEPLOYED",)),
    ):
        for state in states:
            await connection.execute(f"UPDATE {table} SET state = $1", state)


async def told(connection: asyncpg.Connection) -> list[tuple[Any, ...]]:
    """Return the events without what is of their moment."""
    rows = await connection.fetch(
        "SELECT revision, resource_type, resource_id, parent_id, event_type, name, version,"
        r" regexp_replace(data::text, '\d{4}-\d\d-\d\dT[\d:.]+Z', '-', 'g') FROM events ORDER BY revision"
    )
    return [tuple(row) for row in rows]


async def test_a_role_with_privileges_on_tables_alone_writes_the_same_events_as_the_owner(
    postgres: Any, person: Actor
) -> None:
    await change(person.connection)
    async with postgres.fresh() as url:
        owner = await asyncpg.connect(url)
        await change(owner)
        events = await told(owner)
        await owner.close(timeout=5)
    assert len(events) > 12
    assert await told(person.owner) == events
    assert await person.owner.fetch("SELECT DISTINCT actor FROM events") == [(PERSON,)]
