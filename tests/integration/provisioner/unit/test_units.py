"""Scripts charms live their lives: a provisioner with `--units` runs their events for a real server."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from support import process
from support import server as server_support
from support.server import Server
from support.waiting import eventually
from tinkwell.client import Client, connect
from tinkwell.core.unit.kinds import EventState

DEADLINE_SECONDS = 60.0
MANIFEST = "name: {name}\nkind: scripts\n{more}"
# Each event says which it is, and how it is run.
EVERY = """#!/bin/sh
set -eu
juju-log "$JUJU_HOOK_NAME ${JUJU_REMOTE_UNIT:-} $(is-leader)"
state-set "last=$JUJU_HOOK_NAME"
"""
SERVES = "provides:\n  db: {interface: postgresql}\nstorage:\n  data: {type: filesystem}\n"
USES = "requires:\n  db: {interface: postgresql}\nconfig:\n  options:\n    workers: {type: int, default: 2}\n"
WAIT = "echo x >> {folder}/runs\nwhile ! test -e {folder}/go; do sleep 0.05; done\n"
LEASE_SECONDS = 2.0
SETUP = ["install", "leader-elected", "config-changed", "start"]


def _charm(folder: Path, name: str, more: str, hooks: Mapping[str, str]) -> Path:
    (folder / name / "hooks").mkdir(parents=True)
    (folder / name / "charm.yaml").write_text(MANIFEST.format(name=name, more=more))
    for hook, text in hooks.items():
        path = folder / name / "hooks" / hook
        path.write_text(text)
        path.chmod(0o755)
    return folder / name


@pytest.fixture
def pg(tmp_path: Path) -> Path:
    hooks = dict.fromkeys((*SETUP, "stop", "remove"), EVERY)
    hooks["data-storage-attached"] = EVERY + 'echo here > "$JUJU_STORAGE_LOCATION/file"\n'
    hooks["db-relation-joined"] = EVERY + 'relation-set "dsn=pg://$JUJU_UNIT_NAME for $JUJU_REMOTE_UNIT"\n'
    return _charm(tmp_path, "pg", SERVES, hooks)


@pytest.fixture
def web(tmp_path: Path) -> Path:
    changed = 'dsn=$(relation-get dsn)\ntest -n "$dsn" && status-set active "$dsn"\nstate-set "dsn=$dsn"\n'
    hooks = {
        "db-relation-changed": EVERY + changed,
        "config-changed": EVERY + "juju-log workers=$(config-get workers)\n",
    }
    return _charm(tmp_path, "web", USES, hooks)


@contextlib.asynccontextmanager
async def _provisioner(server: Server, folder: Path, name: str = "state") -> AsyncIterator[process.Process]:
    where = ("--server", server.address, "--state-dir", str(folder / name))
    async with process.running(
        "provisioner", "--units", "--runtime", "process", *where, log=folder / f"{name}.log"
    ) as running:
        yield running


@pytest.fixture
async def provisioner(server: Server, tmp_path: Path) -> AsyncIterator[process.Process]:
    async with _provisioner(server, tmp_path) as running:
        yield running


async def _names(client: Client, unit: str) -> list[str]:
    events = [event async for event in client.applications.events(unit)]
    return [event.name for event in reversed(events) if event.state is EventState.COMMITTED]


async def _logs(client: Client, unit: str) -> list[str]:
    return [line.text async for line in client.applications.logs(unit)]


async def test_two_related_applications_live_and_end(
    client: Client, provisioner: process.Process, pg: Path, web: Path, tmp_path: Path
) -> None:
    applications, units = client.applications, tmp_path / "state/units"
    await applications.deploy("pg", str(pg), anywhere=True)
    await applications.deploy("web", str(web), anywhere=True, config={"workers": 5})
    await applications.settled("pg", "web", timeout_seconds=DEADLINE_SECONDS)
    assert await _names(client, "pg/0") == ["data-storage-attached", *SETUP]
    assert (units / "storages/default/data-0/file").read_text() == "here\n"
    assert "workers=5" in await _logs(client, "web/0")

    await applications.relate("pg", "web")
    await applications.settled("pg", "web", timeout_seconds=DEADLINE_SECONDS)
    status = (await applications.unit("web/0")).status
    assert (status.name, status.message) == ("active", "pg://pg/0 for web/0")
    assert "db-relation-joined web/0 True" in await _logs(client, "pg/0")

    await applications.remove("pg")
    await applications.settled("web", timeout_seconds=DEADLINE_SECONDS)
    assert (await _names(client, "web/0"))[-2:] == ["db-relation-departed", "db-relation-broken"]
    await applications.remove("web")
    await eventually(lambda: not list((units / "units").iterdir()), deadline_seconds=DEADLINE_SECONDS)
    assert not list((units / "storages/default").iterdir())


async def test_a_failing_script_is_an_error_until_it_is_resolved(
    client: Client, provisioner: process.Process, tmp_path: Path
) -> None:
    charm = _charm(tmp_path, "frail", "", {"install": f"#!/bin/sh\ntest -e {tmp_path}/mended\n"})
    await client.applications.deploy("frail", str(charm), anywhere=True)

    async def has_failed() -> bool:
        event = (await client.applications.unit("frail/0")).event
        return event is not None and event.state is EventState.ERROR and event.message == "exit 1"

    await eventually(has_failed, deadline_seconds=DEADLINE_SECONDS)
    (tmp_path / "mended").touch()
    await client.applications.resolve("frail/0")

    async def is_started() -> bool:
        return await _names(client, "frail/0") == SETUP

    await eventually(is_started, deadline_seconds=DEADLINE_SECONDS)


async def test_of_two_agents_the_one_that_was_frozen_for_too_long_commits_nothing(
    database_url: str, tmp_path: Path
) -> None:
    hooks = {
        "install": f"#!/bin/sh\nstate-set n=$(($(state-get n) + 1))\n{WAIT.format(folder=tmp_path)}",
        "start": f"#!/bin/sh\nstate-get n > {tmp_path}/count\n",
    }
    charm = _charm(tmp_path, "slow", "", hooks)
    runs, settings = tmp_path / "runs", {"lease_seconds": LEASE_SECONDS}
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(server_support.running(database_url, **settings))
        client = await stack.enter_async_context(connect(server.address))
        first = await stack.enter_async_context(_provisioner(server, tmp_path, "first"))
        await client.applications.deploy("slow", str(charm), anywhere=True)
        await eventually(runs.exists, deadline_seconds=DEADLINE_SECONDS)
        os.kill(first.pid, signal.SIGSTOP)
        second = await stack.enter_async_context(_provisioner(server, tmp_path, "second"))
        await eventually(lambda: runs.read_text() == "x\nx\n", deadline_seconds=DEADLINE_SECONDS)
        os.kill(first.pid, signal.SIGCONT)
        (tmp_path / "go").touch()
        await client.applications.settled("slow", timeout_seconds=DEADLINE_SECONDS)
        await first.line("the server refused to commit an event of a unit", deadline_seconds=DEADLINE_SECONDS)
        events = [event async for event in client.applications.events("slow/0")]
        assert [(event.name, event.attempt) for event in reversed(events)] == [
            ("install", 2), ("leader-elected", 1), ("config-changed", 1), ("start", 1),
        ]  # fmt: skip
        assert (tmp_path / "count").read_text() == "1\n"
        assert "refused to commit" not in second.output
