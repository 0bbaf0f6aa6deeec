"""Secrets of charms of ops with a real server: its clock has them rotated and expired, and nobody writes them down."""

import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import asyncpg
import pytest

from support import canary, process, tiny_charm
from support import server as server_support
from support.dump import dump
from support.server import Server
from support.waiting import eventually
from tinkwell.client import Client, connect
from tinkwell.core.unit.kinds import EventState, TaskState
from tinkwell.server.secret import keys

DEADLINE_SECONDS = 100.0
GUARDIAN = Path(tiny_charm.__file__).parent / "guardian_of_ops"
NAMES = ("bank", "shop")
TOKEN = canary.named("token")
_ROTATE = "UPDATE secret SET rotates_at = clock_timestamp() + interval '3 s' WHERE owner = 'bank' RETURNING rotates_at"
_EXPIRE = """
    WITH newest AS (UPDATE secret SET latest = latest WHERE owner = 'bank' RETURNING id, latest)
    UPDATE secret_revision v SET expires_at = clock_timestamp() + interval '3 s'
      FROM newest s WHERE v.secret_id = s.id AND v.revision = s.latest RETURNING v.expires_at
"""
_BEGAN = "SELECT created_at FROM unit_event WHERE kind = $1 ORDER BY created_at DESC LIMIT 1"


@pytest.fixture
async def server(database_url: str, tmp_path: Path) -> AsyncIterator[Server]:
    keys.create(tmp_path / "keys")
    async with server_support.running(database_url, secret_keys=tmp_path / "keys") as running:
        yield running


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with connect(server.address) as connected:
        yield connected


@contextlib.asynccontextmanager
async def _provisioner(server: Server, folder: Path) -> AsyncIterator[process.Process]:
    where = ("--server", server.address, "--state-dir", str(folder / "state"), "--log-level", "debug")
    log = folder / "provisioner.log"
    async with process.running("provisioner", "--units", "--runtime", "process", *where, log=log) as running:
        yield running


async def _logs(client: Client, unit: str) -> list[str]:
    return [line.text async for line in client.applications.logs(unit)]


async def _rest(client: Client) -> None:
    await client.applications.settled(*NAMES, timeout_seconds=DEADLINE_SECONDS)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_they_are_told_when_it_is_time_and_nobody_writes_down_what_they_hold(
    client: Client, server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    charm = tiny_charm.write(tmp_path / "guardian", [*tiny_charm.source(GUARDIAN), *tiny_charm.venv()])
    async with _provisioner(server, tmp_path) as provisioner:
        for name in NAMES:
            await client.applications.deploy(name, str(charm), anywhere=True)
        token = await client.secrets.create({"password": TOKEN})
        await client.secrets.grant(token.name, "shop")
        await client.applications.set_config("shop", {"token": f"secret:{token.name}"})
        await client.applications.relate("bank:door", "shop:key")
        await _rest(client)
        assert f"a token of {len(TOKEN)} characters" in await _logs(client, "shop/0")
        assert any("a key of" in line for line in await _logs(client, "shop/0"))
        sql = await asyncpg.connect(server.database_url)
        try:
            await _its_time_comes(client, sql, _ROTATE, "secret-rotate")
            await _its_time_comes(client, sql, _EXPIRE, "secret-expired")
        finally:
            await sql.close()
        assert sum("another one of" in line for line in await _logs(client, "shop/0")) == 2
        told = await _stumble(client)
        (secret,) = [each async for each in client.secrets.list(owner="bank")]
        assert (secret.latest, (await client.secrets.reveal(secret.name)).content) == (
            3,
            {"password": canary.named("bank-3")},
        )
        await _rest(client)
        said = [*told, *await _told(client), provisioner.output, caplog.text, await dump(server.database_url)]
        assert canary.lines_with("\n".join(said)) == []
        # Its outcomes were told, and are not there any more.
        assert canary.files_with(tmp_path / "state", canary.named(""), since=0) == []


async def _its_time_comes(client: Client, sql: asyncpg.Connection, statement: str, kind: str) -> None:
    """Have a time come in three seconds: nothing but the agent's own clock has it ask again then."""
    due = await sql.fetchval(statement)

    async def has_come() -> bool:
        events = [event async for event in client.applications.events("bank/0")]
        return any(event.kind == kind and event.state is EventState.COMMITTED for event in events)

    await eventually(has_come, deadline_seconds=DEADLINE_SECONDS, interval_seconds=0.2)
    assert await sql.fetchval(_BEGAN, kind) >= due
    await _rest(client)


async def _stumble(client: Client) -> Sequence[str]:
    """Have a unit do all that goes wrong with secrets, and return what it is told."""
    asked = await client.applications.run("bank/0", "stumble")
    task = await client.applications.finished(asked.id, timeout_seconds=DEADLINE_SECONDS)
    assert (task.state, task.message) == (TaskState.FAILED, "exit 1")
    ended = [line for line in task.log if "has ended with" in line]
    assert len(ended) == 4, task.log
    assert not any("has ended with 0" in line for line in ended), ended
    return [*task.log, str(task), str(task.result)]


async def _told(client: Client) -> Sequence[str]:
    """Return what people read of units, but the content of secrets."""
    told = []
    for name in NAMES:
        told += await _logs(client, f"{name}/0")
        told.append(str(await client.applications.explain(f"{name}/0")))
        told += [str(each) async for each in client.applications.events(f"{name}/0")]
        told += [str(each) async for each in client.applications.tasks(name)]
    return told
