"""A server process that is started again whenever it ends, always at the same address."""

import asyncio
import contextlib
import os
import random
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from support import process, role
from support.waiting import eventually

_START_SECONDS = 90
_PAUSE_SECONDS = 0.2
_STOP_SECONDS = 40
_SHOWN_CHARACTERS = 1_000
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

    `settings` are variables of its environment. `address` is known once it was `ready` for the first time. An end that
    nobody expected is a complaint.
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        database_url: str,
        *,
        options: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.options = options
        self.address = ""
        self.lock = asyncio.Lock()
        self.ready = asyncio.Event()
        self.complaints: list[str] = []
        self.starts = 0
        self.failed_starts: list[str] = []
        self.peak_kilobytes = 0
        self._port = "0"
        self._directory = directory
        self._environment = {
            **_ENVIRONMENT,
            "TINKWELL_DATABASE_URL": role.url_of_server(database_url),
            **(settings or {}),
        }
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
        log = self._directory / f"{self.name}-{self.starts + len(self.failed_starts):03}.log"
        arguments = ("server", "--host", "127.0.0.1", "--port", self._port, "--http-port", "0", *self.options)
        async with process.running(*arguments, log=log, environment=self._environment) as running:
            self._process = running
            self._is_end_expected = False
            self._ended.clear()
            try:
                try:
                    found = await running.line(_ADDRESS, deadline_seconds=_START_SECONDS)
                except AssertionError as error:
                    # PostgreSQL may have gone away for longer than a server waits for it.
                    self.failed_starts.append(str(error))
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
                self._process = None

    async def kill(self, *, down_seconds: float, is_whole: bool) -> None:
        """End it by SIGKILL, with all of its workers or alone, and leave it down for a while."""
        assert self._process is not None
        family = self._family()
        self._expect_end(down_seconds)
        _signal(family if is_whole else [self._process.pid], signal.SIGKILL)
        await self._see_off(family)
        await self._wait_for_next()

    def kill_worker(self, chance: random.Random) -> bool:
        """End one of its workers by SIGKILL; return whether it has any."""
        workers = self._family()[1:]
        if workers:
            _signal([chance.choice(workers)], signal.SIGKILL)
        return bool(workers)

    async def terminate(self, *, down_seconds: float) -> None:
        """Ask it to end, and see that it does so in time and well."""
        assert self._process is not None
        family = self._family()
        self._expect_end(down_seconds)
        _signal(family[:1], signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            self.complaints.append(f"{self.name} did not end within {_STOP_SECONDS} s of SIGTERM")
            _signal(family, signal.SIGKILL)
        else:
            if self._code != 0:
                self.complaints.append(f"{self.name} ended with exit code {self._code} after SIGTERM")
        await self._see_off(family)
        await self._wait_for_next()

    async def freeze(self, *, seconds: float, chance: random.Random) -> None:
        """Stop all of its processes for a while, or one of its workers."""
        family = self._family()
        if len(family) > 1 and chance.random() < 0.5:
            family = [chance.choice(family[1:])]
        _signal(family, signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            _signal(family, signal.SIGCONT)

    def measure(self) -> None:
        """Look how much memory the largest of its processes has at the most."""
        for pid in self._family():
            with contextlib.suppress(OSError):
                found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
                self.peak_kilobytes = max(self.peak_kilobytes, int(found.group(1)) if found else 0)

    def look(self) -> None:
        """Complain if it is not running, long after the last fault."""
        if not self.ready.is_set():
            last = self.failed_starts[-1] if self.failed_starts else "it has never failed to start"
            self.complaints.append(f"{self.name} is not running: {last[-_SHOWN_CHARACTERS:]}")

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

    async def _see_off(self, family: Sequence[int]) -> None:
        """Wait until all of its processes have ended, which workers do by themselves when their server is gone."""
        try:
            await eventually(lambda: not any(map(_is_alive, family)), deadline_seconds=_STOP_SECONDS)
        except TimeoutError:
            left = [pid for pid in family if _is_alive(pid)]
            self.complaints.append(f"processes {left} of {self.name} outlived it by {_STOP_SECONDS} s")
            _signal(left, signal.SIGKILL)

    def _family(self) -> list[int]:
        """Return the numbers of its processes, its own first."""
        if self._process is None:
            return []
        pid = self._process.pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            children = []
        return [pid, *map(int, children)]


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
