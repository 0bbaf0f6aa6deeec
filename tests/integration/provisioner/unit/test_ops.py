"""Two unmodified charms of ops live with a real server: related through a secret, asked for actions, and removed."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support import process, tiny_charm
from support import server as server_support
from support.server import Server
from support.waiting import eventually
from tinkwell.client import Client, connect
from tinkwell.core.charm import package
from tinkwell.core.unit.kinds import EventState, TaskState
from tinkwell.server.secret import keys

DEADLINE_SECONDS = 100.0


@pytest.fixture
async def server(database_url: str, tmp_path: Path) -> AsyncIterator[Server]:
    keys.create(tmp_path / "keys")
    async with server_support.running(database_url, secret_keys=tmp_path / "keys", allow_exec=True) as running:
        yield running


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with connect(server.address) as connected:
        yield connected


@contextlib.asynccontextmanager
async def _provisioner(server: Server, folder: Path) -> AsyncIterator[process.Process]:
    where = ("--server", server.address, "--state-dir", str(folder / "state"))
    log = folder / "provisioner.log"
    async with process.running("provisioner", "--units", "--runtime", "process", *where, log=log) as running:
        yield running


async def _names(client: Client, unit: str) -> list[str]:
    events = [event async for event in client.applications.events(unit)]
    return [event.name for event in reversed(events) if event.state is EventState.COMMITTED]


async def _logs(client: Client, unit: str) -> list[str]:
    return [line.text async for line in client.applications.logs(unit)]


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_two_charms_are_related_through_a_secret(client: Client, server: Server, tmp_path: Path) -> None:
    tiny = tmp_path / "tiny.charm"
    tiny.write_bytes(package.pack(tiny_charm.packed()))
    vault = tiny_charm.write(tmp_path / "vault", [*tiny_charm.source(tiny_charm.VAULT), *tiny_charm.venv()])
    applications = client.applications
    async with _provisioner(server, tmp_path):
        await applications.deploy("vault", str(vault), anywhere=True)
        await applications.deploy("tiny", str(tiny), anywhere=True, config={"workers": 5})
        await applications.relate("tiny", "vault")
        await applications.settled("tiny", "vault", timeout_seconds=DEADLINE_SECONDS)
        assert (await _names(client, "tiny/0"))[:2] == ["data-storage-attached", "install"]
        assert "db has pg://vault/0, and members ['vault/0']" in await _logs(client, "tiny/0")
        unit = await applications.unit("tiny/0")
        assert (unit.status.name, unit.status.message, unit.workload_version) == ("active", "5 workers", "1.2")

        task = await applications.finished(
            (await applications.run("vault/leader", "rotate", length=7)).id, timeout_seconds=DEADLINE_SECONDS
        )
        assert (task.state, task.message) == (TaskState.SUCCEEDED, "")
        assert (task.result["relations"], task.log) == ("1", ("gave tiny another password",))
        await applications.settled("tiny", "vault", timeout_seconds=DEADLINE_SECONDS)
        assert "secret-changed" in await _names(client, "tiny/0")
        assert "db has 14 characters now" in await _logs(client, "tiny/0")
        assert any("nobody reads revision 1 of db-" in line for line in await _logs(client, "vault/0"))

        said = await applications.finished(
            (await applications.exec("tiny/0", ["sh", "-c", "config-get workers; status-get"])).id,
            timeout_seconds=DEADLINE_SECONDS,
        )
        assert (said.state, said.result["stdout"]) == (TaskState.SUCCEEDED, "5\nactive\n")

        await applications.remove("vault")
        await applications.settled("tiny", timeout_seconds=DEADLINE_SECONDS)
        await applications.remove("tiny")
        units = tmp_path / "state/units/units"
        await eventually(lambda: not list(units.iterdir()), deadline_seconds=DEADLINE_SECONDS)
