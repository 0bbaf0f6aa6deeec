"""A server process that is started again whenever it ends, always at the same address."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path

from support import process

_START_SECONDS = 90
_PAUSE_SECONDS = 0.2
_STOP_SECONDS = 40
_EVER_SECONDS = 10 * 365 * 86_400.0
_ADDRESS = r"^gRPC +(\S+:(\d+))$"
# Small buffers, so that whoever is slow for a moment is read for from the ring and then from the table.
_ENVIRONMENT = {
    "TINKWELL_RING_BYTES": str(1 << 20),
    "TINKWELL_SUBSCRIBER_BYTES": str(1 << 16),
    "TINKWELL_CATCHUP_READERS": "3",
    # The run forgets events by itself, from partitions of its own size.
    "TINKWELL_RETENTION_INTERVAL_SECONDS": "0",
    "TINKWELL_SHUTDOWN_GRACE_SECONDS": "2",
}
_ALARMING = re.compile(r"^.*(?: ERROR | CRITICAL |never retrieved|never awaited).*$", re.MULTILINE)


async def workers_option(count: int) -> Sequence[str]:
    """Return the option that makes a server run so many workers; nothing where servers have no such option."""
    help_process = await asyncio.create_subprocess_exec(
        process.COMMAND, "server", "--help", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    text, _ = await help_process.communicate()
    return ("--workers", str(count)) if b"--workers" in text else ()


class Server:
    """One of the servers. Whoever injures it holds `lock` meanwhile, and `expect_end` before it ends.

    `address` is known once it was `ready` for the first time. An end that nobody expected is a complaint.
    """

    def __init__(self, name: str, directory: Path, database_url: str, *, options: Sequence[str] = ()) -> None:
        self.name = name
        self.options = options
        self.address = ""
        self.lock = asyncio.Lock()
        self.ready = asyncio.Event()
        self.complaints: list[str] = []
        self.starts = 0
        self.failed_starts = 0
        self.peak_kilobytes = 0
        self._port = "0"
        self._directory = directory
        self._url = database_url
        self._process: process.Process | None = None
        self._ended = asyncio.Event()
        self._is_end_expected = False
        self._pause_seconds = _PAUSE_SECONDS

    async def run(self) -> None:
        """Keep it running until cancelled."""
        while True:
            try:
                await self._live()
            finally:
                self.ready.clear()
            await asyncio.sleep(self._pause_seconds)

    async def _live(self) -> None:
        log = self._directory / f"{self.name}-{self.starts + self.failed_starts:03}.log"
        arguments = ("server", "--host", "127.0.0.1", "--port", self._port, "--http-port", "0", *self.options)
        environment = {**_ENVIRONMENT, "TINKWELL_DATABASE_URL": self._url}
        async with process.running(*arguments, log=log, environment=environment) as running:
            self._process = running
            self._is_end_expected = False
            self._ended.clear()
            try:
                try:
                    found = await running.line(_ADDRESS, deadline_seconds=_START_SECONDS)
                except AssertionError:
                    # PostgreSQL may have gone away for longer than a server waits for it.
                    self.failed_starts += 1
                    return
                self.starts += 1
                self.address, self._port = found.group(1), found.group(2)
                self.ready.set()
                code = await running.wait(deadline_seconds=_EVER_SECONDS)
                if not self._is_end_expected:
                    self.complaints.append(f"{self.name} ended by itself with exit code {code}: {log}")
                self._code = code
            finally:
                self._ended.set()
                # Workers must not outlive their server, also when that was killed.
                self._signal(signal.SIGKILL)
                self._process = None

    async def kill(self, *, down_seconds: float) -> None:
        """End it by SIGKILL, all of its processes at once, and leave it down for a while."""
        self._expect_end(down_seconds)
        self._signal(signal.SIGKILL)
        await self._wait_for_next()

    async def terminate(self, *, down_seconds: float) -> None:
        """Ask it to end, and see that it does so in time and well."""
        assert self._process is not None
        self._expect_end(down_seconds)
        os.kill(self._process.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            self.complaints.append(f"{self.name} did not end within {_STOP_SECONDS} s of SIGTERM")
            self._signal(signal.SIGKILL)
        else:
            if self._code != 0:
                self.complaints.append(f"{self.name} ended with exit code {self._code} after SIGTERM")
        await self._wait_for_next()

    async def freeze(self, *, seconds: float) -> None:
        """Stop all of its processes for a while."""
        self._signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._signal(signal.SIGCONT)

    def measure(self) -> None:
        """Look how much memory its processes have at the most."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{self._process.pid}/status").read_text()
                found = re.search(r"VmHWM:\s+(\d+) kB", status)
                self.peak_kilobytes = max(self.peak_kilobytes, int(found.group(1)) if found else 0)

    def alarms(self) -> list[str]:
        """Return the alarming lines of all of its logs."""
        return [
            line.strip()
            for log in sorted(self._directory.glob(f"{self.name}-*.log"))
            for line in _ALARMING.findall(log.read_text(errors="replace"))
        ]

    def _expect_end(self, down_seconds: float) -> None:
        self._is_end_expected = True
        self._pause_seconds = down_seconds
        self.ready.clear()

    async def _wait_for_next(self) -> None:
        await self.ready.wait()
        self._pause_seconds = _PAUSE_SECONDS

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
