"""Provisioners and agents as processes that are started again whenever they end, and the runs that they leave."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from support import process
from support.waiting import eventually
from tinkwell.provisioner.runtime.process import identity

_EVER_SECONDS = 10 * 365 * 86_400.0
_STOP_SECONDS = 60
_READY_SECONDS = 120
_PAUSE_SECONDS = 0.2
_ALARMING = re.compile(r"^.*(?: ERROR | CRITICAL |never retrieved|never awaited).*$", re.MULTILINE)


class Worker:
    """A provisioner or an agent, which says `ready` once it has begun to work.

    Whoever injures it holds `lock` meanwhile. An end of its own is a complaint.
    """

    def __init__(self, name: str, directory: Path, arguments: Sequence[str], *, ready: str) -> None:
        self.name = name
        self.lock = asyncio.Lock()
        self.ready = asyncio.Event()
        self.complaints: list[str] = []
        self.starts = 0
        self._directory = directory
        self._arguments = arguments
        self._ready = ready
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
                self._process = None
                self.ready.clear()
                self._ended.set()
            await asyncio.sleep(self._pause_seconds)

    async def _live(self) -> None:
        log = self._directory / f"{self.name}-{self.starts:03}.log"
        async with process.running(*self._arguments, log=log) as running:
            self.starts += 1
            self._process, self._is_end_expected = running, False
            self._ended.clear()
            self.ready.set()
            self._code = await running.wait(deadline_seconds=_EVER_SECONDS)
            if not self._is_end_expected:
                self.complaints.append(f"{self.name} ended by itself with exit code {self._code}: {log}")

    async def settle(self) -> None:
        """Wait until it works, or has had the time to begin."""
        with contextlib.suppress(TimeoutError):
            await eventually(self.is_working, deadline_seconds=_READY_SECONDS, interval_seconds=0.1)

    def is_working(self) -> bool:
        """Whether it has begun to work."""
        return self._process is not None and self._ready in self._process.output

    async def kill(self, *, down_seconds: float) -> None:
        """End it by SIGKILL, and leave it down for a while."""
        await self._end(signal.SIGKILL, down_seconds)

    async def terminate(self, *, down_seconds: float) -> None:
        """Ask it to end, and see that it does so in time and well."""
        await self._end(signal.SIGTERM, down_seconds)
        # Before it has begun to listen to signals, it dies of this one.
        if self._code not in (0, -signal.SIGTERM):
            self.complaints.append(f"{self.name} ended with exit code {self._code} after SIGTERM")

    async def freeze(self, *, seconds: float) -> None:
        """Stop it for a while."""
        self._signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._signal(signal.SIGCONT)

    def alarms(self) -> list[str]:
        """Return the alarming lines of all of its logs."""
        return [
            line.strip()
            for log in sorted(self._directory.glob(f"{self.name}-*.log"))
            for line in _ALARMING.findall(log.read_text(errors="replace"))
        ]

    async def _end(self, number: signal.Signals, down_seconds: float) -> None:
        await self.ready.wait()
        self._is_end_expected = True
        self._pause_seconds = down_seconds
        self._signal(number)
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            self.complaints.append(f"{self.name} did not end within {_STOP_SECONDS} s of {number.name}")
            self._signal(signal.SIGKILL)
            await self._ended.wait()
        await self.ready.wait()
        self._pause_seconds = _PAUSE_SECONDS

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)


class Site:
    """A machine: the workers that share a state directory on it, and the runs that they started."""

    def __init__(self, state_dir: Path, workers: Sequence[Worker]) -> None:
        self.state_dir = state_dir
        self.workers = workers

    @property
    def instance(self) -> str:
        """The id of the state directory."""
        return (self.state_dir / "instance").read_text("ascii")

    def runs(self) -> list[Path]:
        """Return the folders of all runs that are kept here."""
        runs = self.state_dir / "runs"
        return sorted(path for path in runs.iterdir() if path.suffix != ".scrap") if runs.is_dir() else []

    def processes(self, *names: str, of: Callable[[Path], bool] = lambda _: True) -> list[int]:
        """Return the living processes of these names (`shim`, `process`) of all runs, or of those with such folders."""
        return [pid for run in self.runs() if of(run) for pid in _alive(run, names)]

    async def reboot(self, *, down_seconds: float) -> None:
        """Let all of it die at once, runs as well, and come back after a while."""
        await self._kill_all(down_seconds, with_runs=True)

    async def desert(self, *, down_seconds: float) -> None:
        """Let all workers die at once, while what they run goes on, and come back after a while."""
        await self._kill_all(down_seconds, with_runs=False)

    def kill_runs(self) -> None:
        """Kill all processes of all runs."""
        for pid in self.processes("shim", "process"):
            kill(pid)

    async def _kill_all(self, down_seconds: float, *, with_runs: bool) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for worker in self.workers:
                await stack.enter_async_context(worker.lock)
            async with asyncio.TaskGroup() as ends:
                for worker in self.workers:
                    ends.create_task(worker.kill(down_seconds=down_seconds))
                # Now that nobody begins another run; what is just beginning is found the second time.
                for _ in range(3 if with_runs else 0):
                    await asyncio.sleep(0.1)
                    self.kill_runs()


def kill(pid: int) -> None:
    """Kill a process, which may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _alive(run: Path, names: Sequence[str]) -> Iterator[int]:
    for name in names:
        with contextlib.suppress(OSError, ValueError, IndexError):
            recorded = (run / name).read_text("ascii")
            pid = int(recorded.split()[1])
            if identity.of(pid) == recorded:
                yield pid
