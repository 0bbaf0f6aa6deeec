"""Plays one case: a provisioner that stops at its deed, whoever comes after it, and the end of it all."""

import asyncio
import contextlib
import os
import random
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from support import process
from support.chaos.server import Server
from support.chaos.worker import Site
from support.release_chaos.author import Author
from support.release_chaos.journal import Journal
from support.release_chaos.scenario import Change
from support.release_kill.case import Case, Fate, installation, removal
from support.waiting import eventually

_TESTS = Path(__file__).parents[2]
_SECONDS = 60.0
# Within so much of a request the server is killed.
_REQUEST_SECONDS = 0.03
_DOWN_SECONDS = 0.2
_SILENCE_SECONDS = 0.5
_TAKEN = "an operation is carried out"
_ALARMING = re.compile(r"^.*(?: ERROR | CRITICAL |never retrieved|never awaited).*$", re.MULTILINE)


class Play:
    """One case, with two engines of its own. What went wrong beside the promises is a complaint."""

    def __init__(self, case: Case, directory: Path, server: Server, journal: Journal) -> None:
        self.case = case
        self.author = Author(server.address, journal, (), namespace=case.release)
        self.complaints: list[str] = []
        self.was_reached = False
        self._folder = directory / case.release
        self._folder.mkdir()
        self._server = server
        self._images = journal.images
        self.home, self.away = (Site(directory / f"{case.release}-{name}", ()) for name in ("home", "away"))
        self._logs: list[Path] = []

    async def run(self) -> None:
        """Play it to its end."""
        try:
            async with asyncio.timeout(2 * _SECONDS):
                await self._run()
        except (TimeoutError, AssertionError) as error:
            self.complaints.append(f"it did not settle: {str(error)[-500:] or 'too late'}")
        finally:
            await self.author.close()
            for site in (self.home, self.away):
                site.kill_runs()
        self.complaints += self.author.complaints
        self.complaints += [line for log in self._logs for line in _ALARMING.findall(log.read_text(errors="replace"))]

    async def _run(self) -> None:
        case, change = self.case, installation(self.case)
        async with contextlib.AsyncExitStack() as stack:
            victim = await stack.enter_async_context(self._victim())
            if case.removes:
                await self.author.make(case.release, change)
                await self._are_cleared(self.home)
                change = removal(case)
            (self._folder / "armed").touch()
            making = asyncio.ensure_future(self.author.make(case.release, change))
            stack.callback(making.cancel)
            try:
                await eventually((self._folder / "reached").exists, deadline_seconds=_SECONDS)
            except TimeoutError:
                self.complaints.append("its deed was never done")
                return
            await eventually(lambda: _is_stopped(victim.pid), deadline_seconds=_SECONDS)
            self.was_reached = True
            await self._befall(victim, stack, change)
            await making
            if case.fate is Fate.ELSEWHERE:
                await stack.enter_async_context(self._provisioner(self.home))
            await self._are_cleared(self.home, self.away)

    async def _befall(self, victim: process.Process, stack: contextlib.AsyncExitStack, change: Change) -> None:
        """Let the provisioner meet its fate."""
        match self.case.fate:
            case Fate.RETURN:
                await victim.stop(signal.SIGKILL)
                await stack.enter_async_context(self._provisioner(self.home))
            case Fate.ELSEWHERE:
                await victim.stop(signal.SIGKILL)
                await stack.enter_async_context(self._provisioner(self.away))
            case Fate.NEIGHBOUR:
                await stack.enter_async_context(self._provisioner(self.home))
                await victim.stop(signal.SIGKILL)
            case Fate.DREAM:
                neighbour = await stack.enter_async_context(self._provisioner(self.home))
                await self._has_taken(neighbour, change.operation_id)
                await asyncio.sleep(self.case.lateness)
                await self._wake(victim)
            case Fate.SERVER:
                self._go_on(victim)
                await asyncio.sleep(self.case.lateness * _REQUEST_SECONDS)
                async with self._server.lock:
                    await self._server.kill(down_seconds=_DOWN_SECONDS, is_whole=True)
            case Fate.CANCEL:
                await self.author.cancel(change)
                self._go_on(victim)

    async def _wake(self, victim: process.Process) -> None:
        """Let it go on while no server tells it what has happened."""
        async with self._server.lock:
            freezing = asyncio.ensure_future(
                self._server.freeze(seconds=_SILENCE_SECONDS, chance=random.Random(self.case.number))
            )
            await asyncio.sleep(0)
            self._go_on(victim)
            await freezing

    async def _has_taken(self, neighbour: process.Process, operation_id: str) -> None:
        """Wait until the operation has changed hands, or has ended."""
        taken = re.compile(f"{_TAKEN} operation={operation_id}")

        async def is_so() -> bool:
            operation = await self.author.look(operation_id)
            return operation.state.is_final or taken.search(neighbour.output) is not None

        await eventually(is_so, deadline_seconds=_SECONDS, interval_seconds=0.05)

    def _go_on(self, victim: process.Process) -> None:
        (self._folder / "go").touch()
        os.kill(victim.pid, signal.SIGCONT)

    async def _are_cleared(self, *sites: Site) -> None:
        await eventually(
            lambda: not any(site.runs() for site in sites), deadline_seconds=_SECONDS, interval_seconds=0.05
        )

    def _victim(self) -> contextlib.AbstractAsyncContextManager[process.Process]:
        case = self.case
        how = (case.deed.value, case.moment.value, str(case.nth), str(self._folder))
        return self._running(("support.release_kill.victim", *how), self.home)

    def _provisioner(self, site: Site) -> contextlib.AbstractAsyncContextManager[process.Process]:
        return self._running(("tinkwell.provisioner",), site)

    @contextlib.asynccontextmanager
    async def _running(self, module: Sequence[str], site: Site) -> AsyncIterator[process.Process]:
        where = ("--server", self._server.address, "--state-dir", str(site.state_dir), "--releases", self.case.release)
        how = ("--runtime", "process", "--process-images", str(self._images), "--resync-seconds", "5")
        log = self._folder / f"{len(self._logs)}.log"
        self._logs.append(log)
        async with process.running(
            "-m", *module, *where, *how, log=log, program=sys.executable, environment={"PYTHONPATH": str(_TESTS)}
        ) as running:
            try:
                await running.line("releases are watched")
                yield running
            finally:
                await running.stop(signal.SIGKILL)


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
