"""One charm of ops with all that it can have lives with a real server, from its source and as charmcraft packs it."""

import contextlib
import io
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncpg
import pytest

from support import process, tiny_charm
from support import server as server_support
from support.server import Server
from support.waiting import eventually
from tinkwell.client import Client, connect
from tinkwell.client.unit import package
from tinkwell.core.charm.package import NewFile
from tinkwell.core.unit.kinds import EventState, TaskState
from tinkwell.server.secret import keys

# As in `test_ops`: each event starts a Python that imports ops, and there are some thirty.
DEADLINE_SECONDS = 100.0
KEEPER = Path(tiny_charm.__file__).parent / "keeper_of_ops"
UNITS = ("keeper/0", "keeper/1")


@pytest.fixture
async def server(database_url: str, tmp_path: Path) -> AsyncIterator[Server]:
    keys.create(tmp_path / "keys")
    async with server_support.running(database_url, secret_keys=tmp_path / "keys") as running:
        yield running


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with connect(server.address) as connected:
        yield connected


def _source(folder: Path) -> Path:
    """Write the charm as its author keeps it, beside the packages that it needs."""
    return tiny_charm.write(folder / "keeper", [*tiny_charm.source(KEEPER), *tiny_charm.venv()])


def _packed(folder: Path) -> Path:
    """Write the charm as charmcraft packs it: compressed, with a dispatch, and its manifest in several files."""
    files = [*tiny_charm.packed(KEEPER), NewFile("manifest.yaml", b"charmcraft-version: 3.4.0\nanalysis: {}\n")]
    data = package.pack(tiny_charm.write(folder / "build", files))
    path = folder / "keeper_ubuntu-24.04-amd64.charm"
    with zipfile.ZipFile(io.BytesIO(data)) as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        assert {"metadata.yaml", "config.yaml", "actions.yaml", "dispatch"} <= {*plain.namelist()}
        for each in plain.infolist():
            if each.filename != "charmcraft.yaml":
                made.writestr(each, plain.read(each), zipfile.ZIP_DEFLATED)
    return path


@contextlib.asynccontextmanager
async def _provisioner(server: Server, folder: Path) -> AsyncIterator[process.Process]:
    where = ("--server", server.address, "--state-dir", str(folder / "state"))
    log = folder / "provisioner.log"
    async with process.running("provisioner", "--units", "--runtime", "process", *where, log=log) as running:
        yield running


async def _deploy(server: Server, charm: Path, folder: Path) -> None:
    page = folder / "given.txt"
    page.write_text("hello")
    what = ("keeper", str(charm), "--units", "2", "--to", "anywhere", "--resource", f"page={page}")
    command = ("app", "deploy", *what, "--server", server.address)
    async with process.running(*command, log=folder / "deploy.log") as deploying:
        assert await deploying.wait(deadline_seconds=DEADLINE_SECONDS) == 0, deploying.output


async def _names(client: Client, unit: str) -> list[str]:
    events = [event async for event in client.applications.events(unit)]
    return [event.name for event in reversed(events) if event.state is EventState.COMMITTED]


async def _logs(client: Client, unit: str) -> list[str]:
    return [line.text async for line in client.applications.logs(unit)]


async def _rest(client: Client) -> None:
    await client.applications.settled("keeper", timeout_seconds=DEADLINE_SECONDS)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("made", [_source, _packed], ids=["source", "packed"])
async def test_it_lives_to_its_end(
    client: Client, server: Server, tmp_path: Path, made: Callable[[Path], Path]
) -> None:
    async with _provisioner(server, tmp_path):
        await _deploy(server, made(tmp_path), tmp_path)
        await _rest(client)
        for unit in UNITS:
            assert "the page says hello" in await _logs(client, unit)
        await _its_siblings_meet(client)
        await _it_defers(client)
        await _its_secret_is_rotated(client, server)
        await client.applications.remove("keeper")
        units = tmp_path / "state/units"
        await eventually(lambda: not list((units / "units").iterdir()), deadline_seconds=DEADLINE_SECONDS)
        assert not list((units / "storages/default").iterdir())


async def _its_siblings_meet(client: Client) -> None:
    for unit, other in (UNITS, reversed(UNITS)):
        assert f"a sibling says I am {other}" in await _logs(client, unit)


async def _it_defers(client: Client) -> None:
    for unit in UNITS:
        status = (await client.applications.unit(unit)).status
        assert (status.name, status.message) == ("waiting", "for its opening")
        (notice,) = [each async for each in client.applications.deferred(unit)]
        assert notice.handler.startswith("Keeper._on_config_changed")
        assert "opens" not in await _logs(client, unit)
    await client.applications.set_config("keeper", {"is-open": True})
    await _rest(client)
    for unit in UNITS:
        assert [each async for each in client.applications.deferred(unit)] == []
        # What was deferred is heard once more, and then what the new configuration has caused.
        assert (await _logs(client, unit)).count("opens") == 2
        assert (await client.applications.unit(unit)).status.name == "active"


async def _its_secret_is_rotated(client: Client, server: Server) -> None:
    assert await _kept(client) == {"file": "a keeper/0", "password": "number-0", "return-code": 0}
    leader = (await client.applications.get("keeper")).leader
    sql = await asyncpg.connect(server.database_url)
    try:
        await sql.execute("UPDATE secret SET rotates_at = clock_timestamp() - interval '1 min'")
    finally:
        await sql.close()
    # The hour is not waited for: another event has the agent ask what is due.
    await client.applications.collect_metrics(leader)
    await _rest(client)
    assert (await _names(client, leader)).count("secret-rotate") == 1
    assert "rotates root" in await _logs(client, leader)
    assert await _kept(client) == {"file": "a keeper/0", "password": "number-1", "return-code": 0}


async def _kept(client: Client) -> dict[str, object]:
    asked = await client.applications.run("keeper/0", "kept", prefix="a ")
    task = await client.applications.finished(asked.id, timeout_seconds=DEADLINE_SECONDS)
    assert (task.state, task.log) == (TaskState.SUCCEEDED, ("looks at what it keeps",)), task
    return {**task.result}
