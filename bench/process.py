"""Processes that take part: servers of Tinkwell, other programs, and load generators in Python.

None of them outlives the run: programs get a signal when it ends, and a generator ends with its standard input.
"""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinkwell.server.app.dev import child

ROOT = Path(__file__).resolve().parent.parent
COMMAND = str(Path(sys.executable).with_name("tinkwell"))
_START_SECONDS = 60
_STOP_SECONDS = 20
_POLL_SECONDS = 0.01
# One reply of a generator is one line.
_LONGEST_REPLY = 64 << 20
# Longer than any sample; a generator that says nothing for so long has failed.
_REPLY_SECONDS = 300


class Failed(Exception):
    """A process did not start, ended by itself, or did not answer; the text holds the end of what it wrote."""


@dataclass(frozen=True, slots=True)
class Program:
    """A running program; both of its outputs go to the log."""

    process: asyncio.subprocess.Process
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    async def line(self, pattern: str) -> re.Match[str]:
        """Wait for a line in the log that matches. Raises `Failed`."""
        compiled = re.compile(pattern, re.MULTILINE)
        try:
            async with asyncio.timeout(_START_SECONDS):
                while (found := compiled.search(self.log.read_text(errors="replace"))) is None:
                    if self.process.returncode is not None:
                        raise Failed(f"ended with {self.process.returncode}:\n{child.tail(self.log)}")
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise Failed(f"no line matched {pattern!r}:\n{child.tail(self.log)}") from None
        return found


@dataclass(frozen=True, slots=True)
class Server:
    """A Tinkwell server that is ready, by its addresses as host:port."""

    address: str
    http_address: str
    pid: int


@asynccontextmanager
async def program(*command: str, log: Path, environment: Mapping[str, str] | None = None) -> AsyncIterator[Program]:
    """Run the program at the full path `command[0]` until the block ends."""
    with log.open("wb") as output:
        started = await child.start(
            command, death_signal=signal.SIGKILL, output=output, environment=environment or _environment()
        )
    try:
        yield Program(started, log)
    finally:
        await child.stop(started, (signal.SIGTERM,), patience_seconds=_STOP_SECONDS)


@asynccontextmanager
async def server(
    database_url: str,
    *arguments: str,
    directory: Path,
    command: Sequence[str] = (COMMAND,),
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[Server]:
    """Run `tinkwell server ARGUMENTS` over the database; `command` is what stands for `tinkwell`.

    `settings` are variables of its environment.
    """
    address = ("--host", "127.0.0.1", "--port", "0", "--http-port", "0", "--log-level", "warning")
    full = (*command, "server", *address, "--database-url", database_url, *arguments)
    environment = _environment() | dict(settings or {})
    async with program(*full, log=directory / "server.log", environment=environment) as running:
        grpc = await running.line(r"^gRPC\s+(\S+)$")
        http = await running.line(r"^HTTP\s+http://(\S+)$")
        yield Server(grpc.group(1), http.group(1), running.pid)


class Generator:
    """A load generator in a process of its own: it is sent messages and replies to each with one."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, **message: object) -> dict[str, Any]:
        """Send a message and wait for the reply. Raises `Failed`."""
        await self.tell(**message)
        return await self.reply()

    async def tell(self, **message: object) -> None:
        """Send a message; its reply must be read by `reply`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()

    async def reply(self) -> dict[str, Any]:
        """Wait for the next reply. Raises `Failed`."""
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_REPLY_SECONDS):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise Failed(f"a load generator does not answer:\n{child.tail(self._log)}") from None
        if not line:
            raise Failed(f"a load generator ended:\n{child.tail(self._log)}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@asynccontextmanager
async def generator(module: str, *, directory: Path, name: str = "") -> AsyncIterator[Generator]:
    """Run `python -m MODULE`, whose work is framed by `bench.generator.run`, until the block ends."""
    log = directory / f"{name or module}.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=output,
            limit=_LONGEST_REPLY,
            cwd=ROOT,
            env=_environment(),
            start_new_session=True,
        )
    try:
        yield Generator(process, log)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await child.stop(process, (signal.SIGTERM,), patience_seconds=_STOP_SECONDS)


def _environment() -> dict[str, str]:
    """This process's environment, so that modules of the benchmarks are found, and none of the product's settings."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TINKWELL_")}
    return inherited | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
