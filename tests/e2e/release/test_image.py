"""The images of the examples: each is installed, found unchanged, changed, and removed."""

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg

from support import release_stack
from support.release_stack import Stack
from support.waiting import eventually
from tinkwell.client import Client, State
from tinkwell.core.release.kinds import ResourceStatus


def manifest(image: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A manifest of one resource, called `it`, whose plug `files` is a folder of the release."""
    resource = {"type": f"tinkwell-resource/{image}:v1", "config": config, **more}
    return {"plugs": {"files": {"path": "files"}}, "resources": {"it": resource}}


def contents(path: str) -> str | None:
    """What is in a file; None where there is none."""
    file = Path(path)
    return file.read_text() if file.exists() else None


def mode(path: str) -> int:
    """Who may do what with a file."""
    return Path(path).stat().st_mode & 0o777


def unique(name: str) -> str:
    """A name that nothing else in the cluster has."""
    return f"{name}_{uuid.uuid4().hex[:12]}"


async def test_a_file_is_written_left_alone_written_again_and_removed(stack: Stack) -> None:
    config = {"name": "a.txt", "content": "eins\nzwei: ü\n"}
    installed = await stack.apply("a", manifest("file", config))
    assert (installed.operation.state, installed.became) == (State.SUCCEEDED, {"it": "changed"})
    assert installed.steps("it") == ["INIT init", "STATE state", "ACTION write", "RECHECK state"]
    found = await stack.state("a", "it")
    file = found["path"]
    assert contents(file) == config["content"]
    assert (found["mode"], mode(file)) == ("0644", 0o644)

    again = await stack.apply("a", manifest("file", config))
    assert (again.became, again.steps("it")) == ({"it": "unchanged"}, ["STATE state"])

    changed = await stack.apply("a", manifest("file", {**config, "content": "", "mode": "0600"}))
    assert changed.became == {"it": "changed"}
    assert (contents(file), mode(file)) == ("", 0o600)

    assert (await stack.uninstall("a")).became == {"it": "removed"}
    assert contents(file) is None


async def test_a_file_that_somebody_changed_is_found_and_mended(stack: Stack) -> None:
    asked = manifest("file", {"name": "a.txt", "content": "ours"})
    await stack.apply("a", asked)
    file = (await stack.state("a", "it"))["path"]
    await asyncio.to_thread(Path(file).write_bytes, b"theirs \xff")
    assert (await stack.apply("a", asked)).actions("it") == ["write"]
    assert contents(file) == "ours"


async def test_a_config_that_the_image_does_not_take_changes_nothing(stack: Stack) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "name": {"name": "../a", "content": ""},
        "content": {"name": "a"},
        "mode": {"name": "a", "content": "", "mode": "644"},
        "owner": {"name": "a", "content": "", "owner": "root"},
    }
    resources = {key: {"type": "tinkwell-resource/file:v1", "config": config} for key, config in wrong.items()}
    refused = await stack.apply("a", {"plugs": {"files": {"path": "files"}}, "resources": resources})
    assert refused.operation.state is State.FAILED
    for key in wrong:
        assert key in refused.nodes[key].message.removeprefix(f"{key}.")
        assert refused.steps(key) == ["INIT init"]


@contextlib.asynccontextmanager
async def cleaning(database_url: str, *, role: str, database: str = "") -> AsyncIterator[asyncpg.Connection]:
    """A connection to the cluster, from which role and database are gone in the end."""
    sql = await asyncpg.connect(database_url)
    try:
        yield sql
    finally:
        if database:
            await sql.execute(f"DROP DATABASE IF EXISTS {database}")
        await sql.execute(f"DROP ROLE IF EXISTS {role}")
        await sql.close()


async def test_a_role_is_created_left_alone_altered_and_dropped(stack: Stack, database_url: str) -> None:
    name, server = unique("role"), release_stack.postgres(database_url)
    async with cleaning(database_url, role=name) as sql:

        async def attributes() -> tuple[Any, ...]:
            row = await sql.fetchrow(
                "SELECT rolcanlogin, rolcreatedb, rolconnlimit FROM pg_roles WHERE rolname = $1", name
            )
            return tuple(row) if row else ()

        config = {"server": server, "name": name, "createdb": True}
        assert (await stack.apply("r", manifest("pg-role", config))).actions("it") == ["create-role"]
        assert await attributes() == (True, True, -1)
        assert (await stack.apply("r", manifest("pg-role", config))).became == {"it": "unchanged"}
        altered = await stack.apply("r", manifest("pg-role", {**config, "login": False, "connection_limit": 3}))
        assert altered.actions("it") == ["alter-role"]
        assert await attributes() == (False, True, 3)
        assert (await stack.uninstall("r")).became == {"it": "removed"}
        assert await attributes() == ()


async def test_a_password_is_set_compared_and_changed_and_stands_in_no_output(stack: Stack, database_url: str) -> None:
    name, server = unique("role"), release_stack.postgres(database_url)
    async with cleaning(database_url, role=name) as sql:

        async def apply(password: str) -> release_stack.Outcome:
            config = {"server": {**server, "password": "of the server"}, "name": name, "password": password}
            return await stack.apply("r", manifest("pg-role", config))

        async def verifier() -> str:
            return str(await sql.fetchval("SELECT rolpassword FROM pg_authid WHERE rolname = $1", name))

        first = await apply("first one's $ecret")
        assert first.actions("it") == ["create-role"]
        before = await verifier()
        assert before.startswith("SCRAM-SHA-256$4096:")
        assert (await apply("first one's $ecret")).became == {"it": "unchanged"}
        assert (await apply("second")).actions("it") == ["alter-role"]
        assert await verifier() != before
        await sql.execute(f"ALTER ROLE {name} PASSWORD 'second'")  # the server's own way to make a verifier
        assert (await apply("second")).became == {"it": "unchanged"}
    assert "$ecret" not in "".join(await stack.printed(first.operation, "it"))


async def test_a_database_is_created_left_alone_given_to_another_and_dropped(stack: Stack, database_url: str) -> None:
    owner, name, server = unique("role"), unique("db"), release_stack.postgres(database_url)
    async with cleaning(database_url, role=owner, database=name) as sql:
        await sql.execute(f"CREATE ROLE {owner}")
        config = {"server": server, "name": name}
        assert (await stack.apply("d", manifest("pg-database", config))).actions("it") == ["create-database"]
        found = await stack.state("d", "it")
        assert (found["name"], found["owner"]) == (name, server["user"])
        assert found["connection"] == f"host={server['host']} port={server['port']} dbname={name}"
        assert (await stack.apply("d", manifest("pg-database", config))).became == {"it": "unchanged"}
        given = await stack.apply("d", manifest("pg-database", {**config, "owner": owner}))
        assert given.actions("it") == ["change-owner"]
        assert (await stack.state("d", "it"))["owner"] == owner
        assert (await stack.uninstall("d")).became == {"it": "removed"}
        assert not await sql.fetchval("SELECT count(*) FROM pg_database WHERE datname = $1", name)


async def test_what_psql_says_of_an_error_is_in_the_output(stack: Stack, tmp_path: Path) -> None:
    config = {"server": {"host": str(tmp_path), "user": "nobody"}, "name": "shop"}
    failed = await stack.apply("d", manifest("pg-database", config))
    assert failed.broken("it").exit_code == 2
    assert "No such file or directory" in "".join(await stack.printed(failed.operation, "it"))


class Page:
    """A web page whose status and text a test chooses."""

    def __init__(self) -> None:
        self.status, self.text, self.asked = 200, "welcome", 0

    @contextlib.asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", port)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        head = f"HTTP/1.1 {self.status} said\r\nContent-Length: {len(self.text)}\r\nConnection: close\r\n\r\n"
        writer.write(f"{head}{self.text}".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()


async def test_a_page_that_answers_is_left_alone_and_stays(stack: Stack) -> None:
    page = Page()
    async with page.serving() as url:
        config = {"url": url, "contains": "come"}
        assert (await stack.apply("p", manifest("http-check", config))).became == {"it": "unchanged"}
        assert await stack.state("p", "it") == {"url": url, "status": 200}
        page.status = 404
        assert (await stack.apply("p", manifest("http-check", {**config, "status": 404}))).became == {"it": "unchanged"}
    gone = await stack.uninstall("p")
    assert gone.became == {"it": "left"}


async def test_a_page_that_does_not_answer_yet_is_waited_for(stack: Stack) -> None:
    page = Page()
    page.status = 503
    async with page.serving() as url:
        applying = asyncio.create_task(stack.apply("p", manifest("http-check", {"url": url})))
        # By state, by the action, and when it is asked again.
        await eventually(lambda: page.asked >= 3, deadline_seconds=60)
        page.status = 200
        waited = await applying
    assert (waited.operation.state, waited.actions("it")) == (State.SUCCEEDED, ["wait"])


async def test_a_page_that_is_not_there_in_time_is_a_failure_that_says_what_is_there_instead(stack: Stack) -> None:
    page = Page()
    page.status = 500
    async with page.serving() as url:
        asked = manifest("http-check", {"url": url, "status": 200}, timeouts={"ready": 1})
        failed = await stack.apply("p", asked)
        assert failed.operation.state is State.FAILED
        assert "its state differs from its config at status" in failed.nodes["it"].message
        assert f"{url} answers with status 500" in await stack.printed(failed.operation, "it")


async def test_a_page_that_may_only_be_looked_at_fails_at_once(stack: Stack) -> None:
    asked = manifest("http-check", {"url": "http://127.0.0.1:1/"}, readonly=True)
    failed = await stack.apply("p", asked)
    assert "readonly" in failed.nodes["it"].message
    assert failed.actions("it") == []


TEMPLATE = """
version: "0.1"
name: install
tasks:
  - name: only
    worker: "{{.device_1}}"
    actions:
      - {name: only, image: tests/nothing, timeout: 60}
"""
MAC = "52:54:00:10:00:03"


async def report_next(client: Client, workflow: str, state: State) -> None:
    """Report on the only action of a workflow as its worker would."""
    (action,) = await client.workflows.actions(workflow)
    for reported in (State.RUNNING, state):
        await client.workflows.report(
            workflow, action_id=action.id, worker_id=action.worker_id, state=reported, message="as a test has it"
        )


async def created(client: Client, *, besides: set[str]) -> str:
    """Wait for a workflow that somebody creates, and return its id."""
    async with asyncio.timeout(30):
        while True:
            found = [flow.id async for flow in client.workflows.list() if flow.id not in besides]
            if found:
                return found[0]
            await asyncio.sleep(0.05)


async def test_machines_are_provisioned_by_a_workflow_once_and_left_when_the_release_goes(
    stack: Stack, client: Client, server_address: str
) -> None:
    await client.hardware.push({"id": str(uuid.uuid4()), "network": {"interfaces": [{"dhcp": {"mac": MAC}}]}})
    await client.templates.create(TEMPLATE)
    config = {"server": server_address, "template": "install", "devices": {"device_1": MAC}}
    asked = manifest("tinkwell-workflow", config)

    applying = asyncio.create_task(stack.apply("m", asked))
    workflow = await created(client, besides=set())
    await client.workflows.update_data(workflow, json.dumps({"address": "192.168.56.43"}).encode())
    await report_next(client, workflow, State.SUCCEEDED)
    installed = await applying
    assert installed.actions("it") == ["provision"]
    assert await stack.state("m", "it") == {
        "template": "install",
        "devices": {"device_1": MAC},
        "workflow": workflow,
        "data": {"address": "192.168.56.43"},
    }
    assert (await stack.apply("m", asked)).became == {"it": "unchanged"}
    left = await stack.uninstall("m")
    assert left.became == {"it": "left"}
    assert "has no destroy action" in left.nodes["it"].message
    assert [flow.id async for flow in client.workflows.list()] == [workflow]


async def test_a_workflow_that_fails_is_told_with_its_lines_and_a_running_one_is_waited_for(
    stack: Stack, client: Client, server_address: str
) -> None:
    await client.hardware.push({"id": str(uuid.uuid4()), "network": {"interfaces": [{"dhcp": {"mac": MAC}}]}})
    await client.templates.create(TEMPLATE)
    config = {"server": server_address, "template": "install", "devices": {"device_1": MAC}}

    applying = asyncio.create_task(stack.apply("m", manifest("tinkwell-workflow", config)))
    first = await created(client, besides=set())
    await report_next(client, first, State.FAILED)
    failed = await applying
    assert failed.broken("it").name == "provision"
    assert "as a test has it" in "\n".join(await stack.printed(failed.operation, "it"))

    second = (await client.workflows.create("install", {"device_1": MAC})).id
    applying = asyncio.create_task(stack.apply("m", manifest("tinkwell-workflow", config)))
    await begun(stack, "provision", times=2)
    await report_next(client, second, State.SUCCEEDED)
    assert (await applying).actions("it") == ["provision"]
    assert (await stack.state("m", "it"))["workflow"] == second


async def begun(stack: Stack, action: str, *, times: int) -> None:
    """Wait until an action of this name has begun so many times."""
    async with asyncio.timeout(30):
        async for event in stack.client.releases.watch(from_revision=1):
            times -= event.event_type == "STEP_STARTED" and event.data["name"] == action
            if not times:
                return


async def test_what_an_operation_saw_is_what_the_release_knows(stack: Stack) -> None:
    await stack.apply("a", manifest("file", {"name": "a.txt", "content": "x"}))
    (known,) = (await stack.resources("a")).values()
    assert (known.status, known.owned, known.type) == (ResourceStatus.VALID, True, "tinkwell-resource/file:v1")
    assert known.config == {"name": "a.txt", "content": "x"}
