"""Files that a process may open: it has as many as it may have, and HTTP does not take those of gRPC."""

import asyncio
import contextlib
import re
import resource
import socket
import urllib.request
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import tinkwell.client
from support import process, role
from support.waiting import eventually

SILENT = 1_100
# Lowers both limits, and starts a command.
WITH_FILES = 'ulimit -S -n "$0" && ulimit -H -n "$1" && shift && exec "$@"'


@contextlib.asynccontextmanager
async def limited(
    *arguments: str, soft: int, hard: int, log: Path, environment: dict[str, str]
) -> AsyncIterator[process.Process]:
    """Run `tinkwell ARGUMENTS` with limits of open files."""
    command = ("-c", WITH_FILES, str(soft), str(hard), process.COMMAND, *arguments)
    async with process.running(*command, program="/bin/sh", log=log, environment=environment) as running:
        yield running


def files(running: process.Process) -> list[str]:
    """The soft and the hard limit of a process."""
    lines = Path(f"/proc/{running.pid}/limits").read_text().splitlines()
    return next(line for line in lines if line.startswith("Max open files")).split()[3:5]


@pytest.fixture
def many_sockets() -> Iterator[None]:
    """Let this process have the other ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.asynccontextmanager
async def server(database_url: str, log: Path, *, soft: int, hard: int) -> AsyncIterator[process.Process]:
    environment = {"TINKWELL_DATABASE_URL": role.url_of_server(database_url), "TINKWELL_THROWAWAY_DATABASE": "true"}
    arguments = ("server", "--port", "0", "--http-port", "0")
    async with limited(*arguments, soft=soft, hard=hard, log=log, environment=environment) as running:
        yield running


async def test_requests_that_never_end_keep_nobody_out_are_closed_and_fill_no_log(
    database_url: str, tmp_path: Path, many_sockets: None
) -> None:
    log = tmp_path / "server.log"
    async with server(database_url, log, soft=512, hard=512) as running:
        ready = await running.line(r"the server is ready.*grpc=(\S+) http=(\S+)")
        with contextlib.ExitStack() as stack:
            silent = [stack.enter_context(await begin(ready[2], number)) for number in range(SILENT)]
            for _ in range(10):
                # Each is a connection of its own.
                async with asyncio.timeout(10), tinkwell.client.connect(ready[1]) as client:
                    await client.hardware.push({"id": str(uuid.uuid4())})
            assert await asyncio.to_thread(status, f"http://{ready[2]}/readyz") == 200
            await eventually(lambda: all(map(is_closed, silent)), deadline_seconds=30, interval_seconds=0.2)
        assert log.stat().st_size < 50_000
        assert "Traceback" not in running.output


async def test_what_the_log_says_over_and_over_while_files_are_lacking_is_counted(
    database_url: str, tmp_path: Path, many_sockets: None
) -> None:
    async with server(database_url, tmp_path / "server.log", soft=512, hard=512) as running:
        ready = await running.line(r"the server is ready.*grpc=(\S+) http=(\S+)")
        with contextlib.ExitStack() as stack:
            for number in range(600):
                stack.enter_context(await connect(ready[1], number))
            # The kernel takes connections ahead of the server; until that has them all, there are files left.
            await eventually(lambda: len(list(Path(f"/proc/{running.pid}/fd").iterdir())) == 512)
            lacking = "socket.accept() out of system resource"
            stack.enter_context(await connect(ready[2], 0))
            await eventually(lambda: running.output.count(lacking) >= 20)
        assert await running.stop() == 0
        assert re.search(rf"lines like this one were not written lines=\d+ like='{re.escape(lacking)}'", running.output)
        assert running.output.count("OSError: [Errno 24]") == 20


async def begin(address: str, number: int) -> socket.socket:
    """Begin a request, and do not end its head."""
    end = await connect(address, number)
    end.send(b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Endless: ")
    return end


async def connect(address: str, number: int) -> socket.socket:
    """Connect from one of many addresses."""
    host, _, port = address.rpartition(":")
    end = socket.socket()
    end.bind((f"127.0.1.{number % 200 + 1}", 0))
    end.setblocking(False)
    await asyncio.get_running_loop().sock_connect(end, (host, int(port)))
    return end


def is_closed(end: socket.socket) -> bool:
    try:
        return end.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def status(url: str) -> int:
    with urllib.request.urlopen(url, timeout=10) as response:
        return int(response.status)


async def test_a_server_may_open_as_many_files_as_the_system_allows(database_url: str, tmp_path: Path) -> None:
    async with server(database_url, tmp_path / "server.log", soft=256, hard=2_000) as running:
        await running.line("the server is ready")
        assert files(running) == ["2000", "2000"]


async def test_a_provisioner_may_open_as_many_files_as_the_system_allows(tmp_path: Path) -> None:
    arguments = ("provisioner", "--runtime", "process", "--state-dir", str(tmp_path / "state"))
    environment = {"TINKWELL_SERVER": "127.0.0.1:1"}
    async with limited(
        *arguments, soft=256, hard=2_000, log=tmp_path / "provisioner.log", environment=environment
    ) as running:
        await running.line("the provisioner begins")
        assert files(running) == ["2000", "2000"]
