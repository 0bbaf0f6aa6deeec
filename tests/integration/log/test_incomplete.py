"""A database that lacks a part of the log, as in the middle of a restore, is waited for, and nobody is told a fault."""

import asyncio
import contextlib
import datetime
import os
import subprocess
import urllib.error
import urllib.request
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import grpc
import grpc.aio
import pytest

import tinkwell.client
from support import server as servers
from support.edge import refused
from support.waiting import eventually
from tinkwell.api.v1 import (
    event_service_pb2,
    event_service_pb2_grpc,
    hardware_service_pb2,
    hardware_service_pb2_grpc,
)
from tinkwell.client import errors
from tinkwell.core.event.page import SourceLost
from tinkwell.core.event.retention import Partition, Policy, StepFailed
from tinkwell.core.event.selection import Selection
from tinkwell.server.app.dev import binaries
from tinkwell.server.log.store import partition
from tinkwell.server.log.store.log import PostgresLog

_PROGRAM_SECONDS = 60
# The server gives way to who restores beside it; see docs/reference/event-log.md.
_INSISTENT = {"deadlock_timeout": "1min"}


@dataclass(frozen=True)
class Lack:
    """What a database lacks for a while: the rows of a table, or a relation altogether."""

    what: str
    take: str
    give: str

    @asynccontextmanager
    async def of(self, database_url: str) -> AsyncIterator[None]:
        await _execute(database_url, self.take)
        try:
            yield
        finally:
            await _execute(database_url, self.give)


def emptied(table: str) -> Lack:
    return Lack(
        f"{table} is empty",
        f"CREATE TABLE kept AS TABLE {table}; DELETE FROM {table}",
        f"INSERT INTO {table} SELECT * FROM kept; DROP TABLE kept",
    )


def absent(kind: str, name: str) -> Lack:
    return Lack(
        f'relation "{name}" does not exist',
        f"ALTER {kind} {name} RENAME TO away",
        f"ALTER {kind} away RENAME TO {name}",
    )


LACKS = [
    emptied("bell_secret"),
    emptied("event_history"),
    absent("TABLE", "bell_secret"),
    absent("TABLE", "event_history"),
    absent("TABLE", "events"),
    absent("SEQUENCE", "events_revision"),
]


async def _execute(database_url: str, statement: str) -> None:
    connection = await asyncpg.connect(database_url, timeout=10, command_timeout=30, server_settings=_INSISTENT)
    try:
        await connection.execute(statement)
    finally:
        await connection.close(timeout=5)


async def cut_off(database_url: str, then: str = "") -> None:
    """Have the server's reader connect anew; a statement that follows need not wait for its locks."""
    await _execute(
        database_url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        f" AND application_name IN ('tinkwell reader', 'tinkwell listener', 'tinkwell bell'); {then}",
    )


async def is_ready(server: servers.Server) -> bool:
    def ask() -> bool:
        try:
            with urllib.request.urlopen(f"http://{server.http_address}/readyz", timeout=10) as response:
                return bool(response.status == 200)
        except urllib.error.HTTPError:
            return False

    return await asyncio.to_thread(ask)


async def is_unready(server: servers.Server) -> bool:
    return not await is_ready(server)


def causes(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return why the reader could not read, or why a server has not begun to."""
    waiting = (".reader", ".readiness")
    return [str(vars(record).get("cause")) for record in caplog.records if record.name.endswith(waiting)]


async def push(client: tinkwell.client.Client) -> None:
    await client.hardware.push({"id": str(uuid.uuid4())})


@pytest.mark.parametrize("lack", LACKS, ids=lambda lack: lack.what)
async def test_a_server_waits_for_what_its_database_lacks_and_then_goes_on(
    server: servers.Server, client: tinkwell.client.Client, caplog: pytest.LogCaptureFixture, lack: Lack
) -> None:
    async with asyncio.timeout(60), client.events.watch(now=True) as watch:
        await push(client)
        assert (await anext(watch)).revision == 1
        async with lack.of(server.database_url):
            await cut_off(server.database_url)
            said = f"not usable yet, as in the middle of a restore: {lack.what}"
            await eventually(lambda: sum(said in cause for cause in causes(caplog)) >= 2)
            assert await is_unready(server)
        await eventually(lambda: is_ready(server))
        await push(client)
        assert (await anext(watch)).revision == 2


@pytest.mark.parametrize("lack", LACKS, ids=lambda lack: lack.what)
async def test_a_server_that_starts_before_its_database_is_whole_becomes_ready_when_it_is(
    database_url: str, caplog: pytest.LogCaptureFixture, lack: Lack
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with lack.of(database_url):
            starting = asyncio.create_task(stack.enter_async_context(servers.running(database_url)))
            await eventually(lambda: any(lack.what in cause for cause in causes(caplog)) or starting.done())
            assert not starting.done()
        server = await starting
        await eventually(lambda: is_ready(server))


class Stubs:
    """What callers do, without the client library, which would try again."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._events = event_service_pb2_grpc.EventServiceStub(channel)
        self._hardware = hardware_service_pb2_grpc.HardwareServiceStub(channel)

    def push(self) -> Awaitable[object]:
        machine = hardware_service_pb2.Hardware(id=str(uuid.uuid4()))
        return self._hardware.Push(hardware_service_pb2.PushRequest(data=machine))

    def publish(self) -> Awaitable[object]:
        return self._events.Publish(event_service_pb2.PublishRequest(name="a.b"))

    def claim(self) -> Awaitable[object]:
        return self._events.GetPosition(event_service_pb2.GetPositionRequest(name="p", claim=True))

    def watch_from(self) -> Awaitable[object]:
        return self._events.Watch(event_service_pb2.WatchRequest(from_revision=1)).read()

    def watch_since(self) -> Awaitable[object]:
        return self._events.Watch(event_service_pb2.WatchRequest()).read()

    @property
    def all(self) -> list[Callable[[], Awaitable[object]]]:
        return [self.push, self.publish, self.claim, self.watch_from, self.watch_since]


@asynccontextmanager
async def calling(server: servers.Server) -> AsyncIterator[Stubs]:
    async with grpc.aio.insecure_channel(server.address) as channel:
        yield Stubs(channel)


async def unserved(calls: list[Callable[[], Awaitable[object]]]) -> set[str]:
    """Make the calls and return the names of those that were not served; each of these must be told UNAVAILABLE."""
    codes: dict[str, grpc.StatusCode] = {}
    for call in calls:
        try:
            await call()
        except grpc.aio.AioRpcError as error:
            codes[call.__name__] = error.code()
    assert set(codes.values()) <= {grpc.StatusCode.UNAVAILABLE}, codes
    return set(codes)


@pytest.mark.parametrize(
    ("lack", "expected"),
    [
        (emptied("event_history"), {"claim", "watch_from", "watch_since"}),
        (absent("TABLE", "event_history"), {"claim", "watch_from", "watch_since"}),
        (absent("TABLE", "events"), {"push", "publish", "watch_from", "watch_since"}),
        (absent("SEQUENCE", "events_revision"), {"push", "watch_from"}),
        (absent("TABLE", "event_position"), {"claim"}),
        (absent("TABLE", "hardware"), {"push"}),
    ],
    ids=lambda value: value.what if isinstance(value, Lack) else "",
)
async def test_what_needs_what_is_lacking_is_unavailable_meanwhile(
    server: servers.Server, lack: Lack, expected: set[str]
) -> None:
    async with asyncio.timeout(60), calling(server) as stubs:
        assert await unserved(stubs.all) == set()
        async with lack.of(server.database_url):
            assert await unserved(stubs.all) >= expected
        assert await unserved(stubs.all) == set()


async def test_a_writer_that_must_ring_and_finds_no_channel_is_told_unavailable_and_rings_once_there_is_one(
    server: servers.Server, database_url: str
) -> None:
    async with asyncio.timeout(60), calling(server) as stubs:
        await eventually(lambda: is_asleep(database_url))
        async with emptied("bell_secret").of(database_url):
            for call in (stubs.push, stubs.publish):
                assert (await refused(call())).code is grpc.StatusCode.UNAVAILABLE
        assert await unserved(stubs.all) == set()


async def is_asleep(database_url: str) -> bool:
    connection = await asyncpg.connect(database_url, timeout=10, command_timeout=30)
    try:
        return bool(await connection.fetchval("SELECT last_value = 1 AND is_called FROM bell_wanted"))
    finally:
        await connection.close(timeout=5)


async def test_what_is_asked_of_a_log_without_history_says_that_it_is_not_usable_yet(database_url: str) -> None:
    log = PostgresLog(database_url, table_readers=1)
    async with log.open(), log.session() as session, emptied("event_history").of(database_url):
        for question in (
            session.oldest_revision(),
            session.history(seen=0, known=""),
            log.history(),
            log.first_revision_since(60),
            log.replay(history_id="", first=1, last=9, selection=Selection(), max_count=9, max_bytes=9),
        ):
            with pytest.raises(SourceLost, match=r"not usable yet.*event_history is empty"):
                await question


async def test_retention_waits_for_a_log_that_is_whole_and_discards_nothing_that_is_not_forgotten(
    database_url: str,
) -> None:
    first = Partition("events_000000000000", 0, 1_000_000, None, None)
    async with partition.session(database_url) as session:
        async with emptied("event_history").of(database_url):
            with pytest.raises(StepFailed, match="event_history is empty"):
                await session.look(Policy(age=datetime.timedelta(days=1), count=1))
            with pytest.raises(StepFailed, match="event_history is empty"):
                await session.forget(first)
        assert await session.discarded() == []


async def test_a_server_outlives_a_restore_of_its_own_database(
    server: servers.Server, client: tinkwell.client.Client, tmp_path: Path
) -> None:
    programs = binaries.find(Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None)

    async def run(name: str, *arguments: str) -> None:
        command = (programs.program(name), *arguments, "--dbname", server.database_url)
        options = " ".join(f"-c {name}={value}" for name, value in _INSISTENT.items())
        environment = os.environ | {"PGOPTIONS": options}
        await asyncio.to_thread(subprocess.run, command, check=True, timeout=_PROGRAM_SECONDS, env=environment)

    dump = str(tmp_path / "dump")
    async with asyncio.timeout(120), calling(server) as stubs:
        await push(client)
        await run("pg_dump", "--format=custom", f"--file={dump}")
        async with client.events.watch(from_revision=1) as watch:
            assert (await anext(watch)).revision == 1
            await cut_off(server.database_url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            await eventually(lambda: is_unready(server))
            assert await unserved(stubs.all) == {call.__name__ for call in stubs.all}
            # All tables are there, and nothing is in them.
            await run("pg_restore", "--section=pre-data", dump)
            await cut_off(server.database_url)
            # What can be written now would be in the way of what is restored.
            calls = [call for call in stubs.all if call != stubs.publish]
            assert await unserved(calls) == {call.__name__ for call in calls}
            assert await is_unready(server)
            await run("pg_restore", "--section=data", dump)
            await run("pg_restore", "--section=post-data", dump)
            with pytest.raises(errors.OtherHistory):
                await anext(watch)
        await eventually(lambda: is_ready(server))
        await push(client)
        async with client.events.watch(from_revision=1) as watch:
            assert [(await anext(watch)).revision for _ in range(2)] == [1, 2]
