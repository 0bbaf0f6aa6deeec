"""Watchers through the faults of connections, servers and PostgreSQL: nothing is lost, repeated or out of order."""

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

import tinkwell.client
from support import role
from support import server as servers
from support.waiting import eventually
from tinkwell.core.event.page import SourceLost
from tinkwell.server.app.dev import place, postgres
from tinkwell.server.database import engine, schema, session
from tinkwell.server.log.store import log


class Load:
    """Writers that go on until told to stop, and come back after a lost connection."""

    def __init__(self, database_url: str, *, writers: int = 4) -> None:
        self._url = database_url
        self._writers = writers
        self._is_done = False
        self.written = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Load"]:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._writers):
                tasks.create_task(self._write())
            try:
                yield self
            finally:
                self._is_done = True

    async def _write(self) -> None:
        while not self._is_done:
            with contextlib.suppress(asyncpg.PostgresError, *engine.CONNECTION_ERRORS):
                connection = await asyncpg.connect(self._url, timeout=5, command_timeout=5)
                try:
                    while not self._is_done:
                        await connection.execute("INSERT INTO hardware (id) VALUES ($1)", uuid.uuid4())
                        self.written += 1
                finally:
                    connection.terminate()
            await asyncio.sleep(0.01)


class Recorder:
    """A watcher that writes down what it was handed."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.revisions: list[int] = []

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Recorder"]:
        task = asyncio.create_task(self._record())
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _record(self) -> None:
        async with tinkwell.client.connect(self._address) as client:
            async for event in client.events.watch(from_revision=1):
                self.revisions.append(event.revision)


async def committed(database_url: str) -> list[int]:
    connection = await asyncpg.connect(database_url)
    try:
        return [row[0] for row in await connection.fetch("SELECT revision FROM events ORDER BY revision")]
    finally:
        await connection.close(timeout=5)


async def terminate(database_url: str, application: str) -> int:
    """End the server's sessions of that name, and return how many there were."""
    connection = await asyncpg.connect(database_url)
    try:
        return int(
            await connection.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE application_name = $1 AND datname = current_database()",
                application,
            )
        )
    finally:
        await connection.close(timeout=5)


@pytest.mark.parametrize("application", ["tinkwell listener", "tinkwell bell", "tinkwell reader", "tinkwell"])
async def test_a_terminated_backend_under_load_loses_nothing(
    server: servers.Server, database_url: str, application: str
) -> None:
    async with Recorder(server.address).running() as recorder:
        async with Load(database_url).running() as load:
            for _ in range(3):
                goal = load.written + 200
                await eventually(lambda: load.written >= goal, deadline_seconds=30)  # noqa: B023
                # A lost doorbell is missed only when the reader wants to sleep, so it may still be gone.
                await terminate(database_url, application)
        expected = await committed(database_url)
        await eventually(lambda: len(recorder.revisions) >= len(expected), deadline_seconds=30)
        assert recorder.revisions == expected


@pytest.mark.parametrize("application", ["tinkwell listener", "tinkwell bell", "tinkwell reader"])
async def test_an_idle_server_whose_backend_was_terminated_still_delivers(
    server: servers.Server, database_url: str, application: str
) -> None:
    async with Recorder(server.address).running() as recorder:
        assert await terminate(database_url, application) == 1
        async with tinkwell.client.connect(server.address) as client:
            await client.hardware.push({"id": str(uuid.uuid4())})
        await eventually(lambda: recorder.revisions == [1])


async def test_a_watcher_that_reads_the_table_survives_the_loss_of_its_backend(database_url: str) -> None:
    async with servers.running(database_url, ring_bytes=1 << 20) as server:
        async with Load(database_url).running() as load:
            await eventually(lambda: load.written >= 3_000, deadline_seconds=60)
        async with Recorder(server.address).running() as recorder:
            for goal in (500, 1_000, 1_500):
                await eventually(lambda: len(recorder.revisions) >= goal)  # noqa: B023
                await terminate(database_url, "tinkwell replay")
            expected = await committed(database_url)
            await eventually(lambda: len(recorder.revisions) >= len(expected))
            assert recorder.revisions == expected


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
async def test_a_restarted_postgresql_loses_nothing(how: signal.Signals) -> None:
    bin_dir = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
    with place.temporary() as state_dir:
        async with contextlib.AsyncExitStack() as stack:
            first = contextlib.AsyncExitStack()
            database = await first.enter_async_context(postgres.embedded(state_dir, bin_dir=bin_dir, roles=role.ALL))
            await role.create_for_servers(database.url)
            await schema.upgrade(database.url, server_role=role.SERVER_ROLE)
            server = await stack.enter_async_context(servers.running(database.url, throwaway_database=False))
            recorder = await stack.enter_async_context(Recorder(server.address).running())
            load = await stack.enter_async_context(Load(database.url).running())
            await eventually(lambda: load.written >= 200, deadline_seconds=30)
            os.kill(database.process.pid, how)
            await first.aclose()
            again = await stack.enter_async_context(postgres.embedded(state_dir, bin_dir=bin_dir, roles=role.ALL))
            goal = load.written + 200
            await eventually(lambda: load.written >= goal, deadline_seconds=60)
            load._is_done = True
            expected = await committed(again.url)
            await eventually(lambda: len(recorder.revisions) >= len(expected), deadline_seconds=60)
            assert recorder.revisions == await committed(again.url)


async def test_clients_resume_on_the_next_server(database_url: str) -> None:
    async with servers.running(database_url) as first:
        port = int(first.address.rsplit(":", 1)[1])
        async with contextlib.AsyncExitStack() as stack:
            recorder = await stack.enter_async_context(Recorder(first.address).running())
            load = await stack.enter_async_context(Load(database_url).running())
            await eventually(lambda: len(recorder.revisions) > 100, deadline_seconds=30)
            stack.push_async_callback(asyncio.sleep, 0)
            resumed = stack.pop_all()
    async with servers.running(database_url, port=port), resumed:
        goal = load.written + 200
        await eventually(lambda: load.written >= goal, deadline_seconds=30)
        load._is_done = True
        expected = await committed(database_url)
        await eventually(lambda: len(recorder.revisions) >= len(expected), deadline_seconds=30)
        assert recorder.revisions == await committed(database_url)


async def test_a_url_that_leads_to_more_than_one_server_is_refused(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            "CREATE FUNCTION public.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'"
        )
    finally:
        await connection.close()
    source = log.PostgresLog(role.url_of_server(database_url), table_readers=1)
    async with source.session():
        pass
    # As another server would, the listener's tells of another start.
    monkeypatch.setitem(session.LISTENER, "search_path", "public, pg_catalog")
    with pytest.raises(SourceLost, match="more than one server"):
        async with source.session():
            raise AssertionError("the listener would hear nothing of what the reader's server is told")
