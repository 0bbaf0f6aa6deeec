"""Several workers behind one port: they serve as one, die for themselves, and end together."""

import asyncio
import contextlib
import functools
import os
import re
import signal
import socket
import urllib.error
import urllib.request
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
from prometheus_client.parser import text_string_to_metric_families

import tinkwell.client
from support import process, role
from support.waiting import eventually
from tinkwell.client import Client, Event

WORKERS = 2


class Served:
    """A server with its workers."""

    def __init__(self, running: process.Process, grpc: str, http: str) -> None:
        self.running = running
        self.grpc = grpc
        self.http = http

    def pids(self, worker: int) -> list[int]:
        """The processes that this worker has been so far."""
        return [
            int(found[1])
            for found in re.finditer(rf"a worker was started worker={worker} pid=(\d+)", self.running.output)
        ]

    def everyone(self) -> list[int]:
        """Every process that belongs to the server."""
        return [self.running.pid, *(pid for worker in range(WORKERS) for pid in self.pids(worker))]

    async def get(self, path: str, *, posted: bytes | None = None) -> tuple[int, str]:
        """Ask the HTTP side."""
        asked = urllib.request.Request(
            f"http://{self.http}{path}", posted, headers={"Content-Type": "application/json"}
        )

        def request() -> tuple[int, str]:
            try:
                with urllib.request.urlopen(asked, timeout=10) as response:
                    return response.status, response.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        return await asyncio.to_thread(request)

    async def watchers(self) -> dict[int, float]:
        """How many watches each worker has."""
        return await self.samples("tinkwell_watchers")

    async def samples(self, name: str) -> dict[int, float]:
        """A metric without other labels, by worker."""
        _, text = await self.get("/metrics")
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        return {int(sample.labels["worker"]): sample.value for sample in samples if sample.name == name}


@contextlib.asynccontextmanager
async def workers(database_url: str, folder: Path, *arguments: str) -> AsyncIterator[Served]:
    environment = {"TINKWELL_DATABASE_URL": role.url_of_server(database_url), "TINKWELL_THROWAWAY_DATABASE": "true"}
    command = ("server", "--workers", str(WORKERS), "--port", "0", "--http-port", "0", *arguments)
    async with process.running(*command, log=folder / "server.log", environment=environment) as running:
        ready = await running.line(r"the server is ready grpc=(\S+) http=(\S+) workers=2")
        yield Served(running, ready[1], ready[2])


class Follower:
    """A client of its own with a watch of all events, and what the watch has received."""

    def __init__(self, client: Client, worker: int) -> None:
        self.client = client
        self.worker = worker
        self.revisions: list[int] = []
        self.interruptions = 0
        self.watch = client.events.watch(now=True, on_disconnect=self._note_interruption)

    def _note_interruption(self, *_: object) -> None:
        self.interruptions += 1

    def note(self, event: Event) -> None:
        self.revisions.append(event.revision)


@contextlib.asynccontextmanager
async def follower_of_each(served: Served) -> AsyncIterator[list[Follower]]:
    """One follower for each worker: the kernel chooses by connection, so more are opened until both have one."""
    async with contextlib.AsyncExitStack() as stack:
        found: dict[int, Follower] = {}
        while len(found) < WORKERS:
            before = await served.watchers()
            client = await stack.enter_async_context(tinkwell.client.connect(served.grpc))
            follower = Follower(client, -1)
            await follower.watch.wait_live()
            after = await served.watchers()
            follower.worker = next(worker for worker in after if after[worker] > before[worker])
            if follower.worker in found:
                await follower.watch.aclose()
                await eventually(functools.partial(served_as, served, before))
            else:
                found[follower.worker] = follower
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        running = [tasks.create_task(follower.watch.run(follower.note)) for follower in found.values()]
        try:
            yield [found[worker] for worker in range(WORKERS)]
        finally:
            for task in running:
                task.cancel()


async def served_as(served: Served, watchers: dict[int, float]) -> bool:
    return await served.watchers() == watchers


async def push(client: Client) -> int:
    """Make an event through this client and return its revision."""
    return (await client.hardware.push({"id": str(uuid.uuid4())})).revision


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def is_ready(served: Served) -> bool:
    return (await served.get("/readyz"))[0] == 200


async def test_each_worker_delivers_what_was_made_through_any_and_a_killed_one_is_replaced(
    database_url: str, tmp_path: Path
) -> None:
    async with workers(database_url, tmp_path) as served, follower_of_each(served) as (first, second):
        made = [await push(follower.client) for follower in (first, second, first, second)]
        await eventually(lambda: first.revisions == second.revisions == made)
        assert "gRPC" in served.running.output
        assert re.search(rf"INFO +the server is ready grpc={re.escape(served.grpc)} worker=1", served.running.output)

        # The supervisor answers machines by itself.
        status, told = await served.get("/phone-home", posted=b"{}")
        assert (status, told) == (404, '{"error":"no machine has the address 127.0.0.1, from which this call came"}')

        os.kill(served.pids(0)[0], signal.SIGKILL)
        made.append(await push(second.client))
        await eventually(lambda: second.revisions == made)
        await eventually(lambda: first.revisions == made, deadline_seconds=20)
        assert (first.interruptions > 0, second.interruptions) == (True, 0)
        await eventually(lambda: is_ready(served), deadline_seconds=30, interval_seconds=0.05)
        assert [len(served.pids(worker)) for worker in range(WORKERS)] == [2, 1]
        assert await served.samples("tinkwell_worker_restarts_total") == {0: 1, 1: 0}
        assert await served.samples("tinkwell_worker_up") == {0: 1, 1: 1}
        made += [await push(follower.client) for follower in (first, second)]
        await eventually(lambda: first.revisions == second.revisions == made)
        assert await served.running.stop(signal.SIGTERM, deadline_seconds=20) == 0
        assert "Traceback" not in served.running.output
        assert not any(is_alive(pid) for pid in served.everyone())


async def test_nothing_is_left_when_the_supervisor_is_killed(database_url: str, tmp_path: Path) -> None:
    async with workers(database_url, tmp_path) as served:
        assert sum(is_alive(pid) for pid in served.everyone()) == WORKERS + 1
        await served.running.stop(signal.SIGKILL)
        await eventually(lambda: not any(is_alive(pid) for pid in served.everyone()))
    async with asyncpg_connection(database_url) as connection:
        await eventually(lambda: has_no_sessions(connection))


@contextlib.asynccontextmanager
async def asyncpg_connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    try:
        yield connection
    finally:
        await connection.close()


async def has_no_sessions(connection: asyncpg.Connection) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name ~ 'tinkwell'"
    return bool(await connection.fetchval(query) == 0)


async def test_a_port_that_anybody_has_is_refused(database_url: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        await is_refused(database_url, tmp_path, taken.getsockname()[1], "--workers", "2")


async def test_two_servers_do_not_share_a_port_unless_they_are_workers_of_one(
    database_url: str, tmp_path: Path
) -> None:
    async with workers(database_url, tmp_path) as served:
        port = int(served.grpc.rpartition(":")[2])
        await is_refused(database_url, tmp_path, port, "--workers", "2")
        await is_refused(database_url, tmp_path, port, "--workers", "1")


async def is_refused(database_url: str, folder: Path, port: int, *arguments: str) -> None:
    environment = {"TINKWELL_DATABASE_URL": role.url_of_server(database_url), "TINKWELL_THROWAWAY_DATABASE": "true"}
    command = ("server", "--port", str(port), "--http-port", "0", *arguments)
    async with process.running(*command, log=folder / "refused.log", environment=environment) as running:
        assert await running.wait() == 1
        assert f"cannot listen on 127.0.0.1:{port}" in running.output
        assert "Traceback" not in running.output


async def test_what_keeps_a_worker_from_starting_is_told_once_and_ends_the_server(
    empty_database_url: str, tmp_path: Path
) -> None:
    environment = {"TINKWELL_DATABASE_URL": empty_database_url, "TINKWELL_THROWAWAY_DATABASE": "true"}
    command = ("server", "--workers", "2", "--port", "0", "--http-port", "0")
    async with process.running(*command, log=tmp_path / "log", environment=environment) as running:
        assert await running.wait() == 1
        assert running.output.count("run `tinkwell db upgrade`") == 1
        assert "Traceback" not in running.output
