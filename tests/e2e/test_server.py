"""The server as a process: how it begins and ends, and what it does about watchers that vanish."""

import asyncio
import contextlib
import re
import signal
import sys
import urllib.request
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import tinkwell.client
from support import process, role
from support import server as servers
from support.hole import Hole
from support.waiting import eventually
from tinkwell.client import Event, errors
from tinkwell.server.app import main

WATCH = """
import asyncio, sys, tinkwell.client
async def main():
    async with tinkwell.client.connect(sys.argv[1]) as client:
        async with client.events.watch(now=True) as watch:
            print("live", flush=True)
            async for event in watch:
                print(event.revision, flush=True)
asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def server(
    database_url: str, folder: Path, *, port: str = "0", log: str = "server.log"
) -> AsyncIterator[tuple[process.Process, str, str]]:
    """A server process with its gRPC and HTTP addresses."""
    environment = {"TINKWELL_DATABASE_URL": role.url_of_server(database_url), "TINKWELL_THROWAWAY_DATABASE": "true"}
    arguments = ("server", "--port", port, "--http-port", "0")
    async with process.running(*arguments, log=folder / log, environment=environment) as running:
        ready = await running.line(r"the server is ready.*grpc=(\S+) http=(\S+)")
        yield running, ready[1], ready[2]


async def gauge(http_address: str, name: str) -> float:
    def fetch() -> str:
        with urllib.request.urlopen(f"http://{http_address}/metrics", timeout=5) as response:
            return str(response.read().decode())

    lines = (await asyncio.to_thread(fetch)).splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


async def test_sigterm_ends_it_cleanly_and_watchers_resume_on_the_next(database_url: str, tmp_path: Path) -> None:
    received: list[int] = []

    def note(event: Event) -> None:
        received.append(event.revision)

    async with contextlib.AsyncExitStack() as stack:
        first, address, _ = await stack.enter_async_context(server(database_url, tmp_path))
        client = await stack.enter_async_context(tinkwell.client.connect(address))
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        watches = [client.events.watch(from_revision=1) for _ in range(20)]
        running = [tasks.create_task(watch.run(note)) for watch in watches]
        await client.hardware.push({"id": str(uuid.uuid4())})
        await eventually(lambda: received == [1] * 20)
        assert await first.stop(signal.SIGTERM, deadline_seconds=10) == 0
        assert "Traceback" not in first.output
        await stack.enter_async_context(server(database_url, tmp_path, port=address.rsplit(":", 1)[1], log="next.log"))
        await eventually(lambda: _pushes(client), deadline_seconds=20)
        await eventually(lambda: received.count(2) == 20, deadline_seconds=40)
        for task in running:
            task.cancel()
    assert sorted(received) == [1] * 20 + [2] * 20


async def _pushes(client: tinkwell.client.Client) -> bool:
    try:
        await client.hardware.push({"id": "11111111-1111-4111-8111-111111111111"}, expected_version=0)
    except errors.Unavailable:
        return False
    return True


async def test_a_watcher_whose_process_is_killed_is_freed(database_url: str, tmp_path: Path) -> None:
    async with server(database_url, tmp_path) as (_, address, http_address):
        arguments = ("-c", WATCH, address)
        async with process.running(*arguments, program=sys.executable, log=tmp_path / "watcher.log") as watcher:
            await watcher.line("live")
            assert await gauge(http_address, "tinkwell_watchers") == 1
            await watcher.stop(signal.SIGKILL)
        await eventually(lambda: _has_no_watchers(http_address), interval_seconds=0.1)


async def test_a_watcher_that_vanishes_without_a_word_is_freed_within_the_keepalive_time(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times are a tenth of what they are; they add up to half a minute."""
    times = {name: value for name, value in main._OPTIONS if re.search("keepalive_time|ping_timeout", name)}
    assert times["grpc.keepalive_time_ms"] + times["grpc.http2.ping_timeout_ms"] <= 30_000
    hasty = tuple((name, value // 10 if name in times else value) for name, value in main._OPTIONS)
    monkeypatch.setattr(main, "_OPTIONS", hasty)
    async with servers.running(database_url) as running, Hole(running.address).running() as hole:
        arguments = ("-c", WATCH, hole.address)
        async with process.running(*arguments, program=sys.executable, log=tmp_path / "watcher.log") as watcher:
            await watcher.line("live")
            hole.open()
            assert await gauge(running.http_address, "tinkwell_watchers") == 1
            await eventually(lambda: _has_no_watchers(running.http_address), deadline_seconds=30, interval_seconds=0.1)


async def _has_no_watchers(http_address: str) -> bool:
    return await gauge(http_address, "tinkwell_watchers") == 0


async def test_it_refuses_a_database_without_its_schema(empty_database_url: str, tmp_path: Path) -> None:
    environment = {"TINKWELL_DATABASE_URL": empty_database_url, "TINKWELL_THROWAWAY_DATABASE": "true"}
    async with process.running("server", "--port", "0", log=tmp_path / "log", environment=environment) as running:
        assert await running.wait() == 1
        assert "run `tinkwell db upgrade`" in running.output
        assert "Traceback" not in running.output


async def test_it_refuses_a_database_that_a_crash_would_damage(database_url: str, tmp_path: Path) -> None:
    async with process.running(
        "server", "--port", "0", log=tmp_path / "log", environment={"TINKWELL_DATABASE_URL": database_url}
    ) as running:
        assert await running.wait() == 1
        assert "fsync = off" in running.output
        assert "Traceback" not in running.output
