"""The same requests lead to the same events, rows, logs and bags, whether events are forked or started.

WARM_EVENTS=200 has so many of each, at least, instead of 40.
"""

import asyncio
import contextlib
import json
import os
import re
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from support import even_of_ops, real_agent
from support import server as server_support
from support import warm as warm_support
from support.server import Server
from tinkwell.client import Client, connect, retry
from tinkwell.client.lease.keeper import Keeper
from tinkwell.core.unit.kinds import TaskState
from tinkwell.provisioner.unit import agent
from tinkwell.server.secret import keys

EVENTS = int(os.environ.get("WARM_EVENTS", "40"))
DEADLINE_SECONDS = 300.0
APPLICATIONS = ("even", "odd")
# What is different by its nature: ids, times, who had the lease, and revisions of the log. A unit may be elected before
# its first event or after it, which the event has seen; then ops emits one event more, and so counts otherwise.
_PASSING = re.compile(r"(^|_)(id|at|token|version|cause|namespace|until|seen_term)$")
_RANDOM = re.compile(
    r"secret:[0-9a-v]{20}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|/\S*/(?:warm|cold)\b"
    r"|(?<=[a-z_])\[\d+\]"
)
_OF_UNIT = "JOIN unit u ON u.id = x.unit_id WHERE u.namespace = $1"
TABLES = {
    "unit_event": "SELECT x.* FROM unit_event x WHERE x.namespace = $1 ORDER BY x.unit, x.ordinal",
    "unit": "SELECT * FROM unit WHERE namespace = $1 ORDER BY name",
    "application": "SELECT * FROM application WHERE namespace = $1 ORDER BY name",
    "relation_bag": (
        "SELECT r.number, x.* FROM relation_bag x JOIN relation r ON r.id = x.relation_id WHERE r.namespace = $1"
        " ORDER BY r.number, x.owner"
    ),
    "relation": "SELECT * FROM relation WHERE namespace = $1 ORDER BY number",
    # Lines of the three streams come as they come, so that their numbers say little.
    "unit_log": (
        f"SELECT u.name AS unit, x.ordinal, x.attempt, x.level, x.line FROM unit_log x {_OF_UNIT}"
        " ORDER BY u.name, x.ordinal, x.attempt, x.level, x.line"
    ),
    "unit_state": f"SELECT u.name AS unit, x.data FROM unit_state x {_OF_UNIT} ORDER BY u.name",
    "port": f"SELECT u.name AS unit, x.* FROM port x {_OF_UNIT} ORDER BY u.name, x.number",
    "deferred_notice": f"SELECT u.name AS unit, x.ordinal, x.handler FROM deferred_notice x {_OF_UNIT} ORDER BY 1, 2",
    # Their numbers are the database's, whatever namespace they are in.
    "task": (
        "SELECT unit, kind, name, parameters, arguments, state, result, message, timeout_seconds, actor, charm,"
        " is_cancelled FROM task WHERE namespace = $1 ORDER BY number"
    ),
    "secret": "SELECT owner, label, latest FROM secret WHERE namespace = $1 ORDER BY owner, label",
}


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
async def _serving(client: Client, folder: Path, machine: str, *, is_cold: bool) -> AsyncIterator[None]:
    """Serve the units of one machine."""

    async def machines() -> frozenset[str]:
        return frozenset([machine])

    async def storages(namespace: str) -> frozenset[str]:
        return frozenset([each.name async for each in client.applications.storages(namespace=namespace)])

    async def history() -> str:
        return "one"

    keeper = Keeper(client.work, owner=folder.name, engine=folder.name)
    served = agent.Agent(
        api=client.units,
        storages=storages,
        history=history,
        lease=keeper,
        path=folder,
        machines=machines,
        is_cold=is_cold,
    )
    async with real_agent.running(keeper, served):
        yield


async def _play(client: Client, charm: Path, namespace: str, machine: str, sql: asyncpg.Connection) -> None:
    """Have an application of each name live until there were enough events, and its other end hear of each."""
    applications = client.applications
    await client.namespaces.set(namespace, update_status_seconds=3600)
    await client.hardware.push({"id": machine})
    for name in APPLICATIONS:
        await applications.deploy(name, charm, machines=(machine,), namespace=namespace)
        await applications.settled(name, namespace=namespace, timeout_seconds=DEADLINE_SECONDS)
    await applications.relate("even:left", "odd:right", namespace=namespace)
    await _rest(client, namespace)
    talk = 0
    while (await sql.fetchval("SELECT count(*) FROM unit_event WHERE namespace = $1", namespace)) < EVENTS:
        talk += 1
        name = APPLICATIONS[talk % 2]
        if talk % 7 == 0:
            await applications.set_config(name, {"defer": True}, namespace=namespace)
            await _rest(client, namespace)
        await applications.set_config(name, {"talk": talk, "defer": False}, namespace=namespace)
        await _rest(client, namespace)
        if talk % 5 == 0:
            word = "no" if talk % 10 == 0 else f"wörd {talk}"
            asked = await applications.run(f"{name}/0", "tell", word=word, namespace=namespace)
            task = await applications.finished(asked.id, timeout_seconds=DEADLINE_SECONDS)
            assert task.state in (TaskState.SUCCEEDED, TaskState.FAILED)


async def _rest(client: Client, namespace: str) -> None:
    # On a loaded machine the database may be away for a moment, which is no matter of this test.
    await retry.until_answered(
        lambda: client.applications.settled(*APPLICATIONS, namespace=namespace, timeout_seconds=DEADLINE_SECONDS),
        what="wait until units have settled",
    )


async def _rows(sql: asyncpg.Connection, namespace: str) -> dict[str, list[dict[str, object]]]:
    return {table: [_plain(row) for row in await sql.fetch(query, namespace)] for table, query in TABLES.items()}


def _plain(row: asyncpg.Record) -> dict[str, object]:
    """Return a row without what is different by its nature."""
    found = {name: value for name, value in row.items() if not _PASSING.search(name)}
    plain: dict[str, object] = json.loads(_RANDOM.sub("…", json.dumps(found, default=str)))
    return plain


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_warm_is_as_cold(client: Client, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forked = warm_support.wait_for_servers(monkeypatch)
    charm = await asyncio.to_thread(even_of_ops.write, tmp_path / "charm")
    rows = {}

    async def run(namespace: str) -> None:
        machine = str(uuid.uuid4())
        async with _serving(client, tmp_path / namespace, machine, is_cold=namespace == "cold"):
            sql = await asyncpg.connect(server.database_url)
            try:
                await _play(client, charm, namespace, machine, sql)
                rows[namespace] = await _rows(sql, namespace)
            finally:
                await sql.close()

    async with asyncio.TaskGroup() as group:
        for namespace in ("cold", "warm"):
            group.create_task(run(namespace))
    cold, warm = rows["cold"], rows["warm"]
    events = [row["kind"] for row in warm["unit_event"]]
    print(f"{len(events)} events, {len(warm['task'])} tasks, {len(forked)} forks")
    assert len(forked) == len(events) + len(warm["task"]) >= EVENTS
    for table in TABLES:
        assert warm[table] == cold[table], table
        # A secret is made only by those who talk for longer than the fewest events take.
        assert warm[table] or table in ("unit_state", "deferred_notice", "secret"), table
