"""Runs the units of charms (of scripts and of ops) on the machines that this provisioner serves.

    stream of unit ids ──▶ each unit is a task, which is woken ──▶ at most `concurrency` units work at once

The stream is opened anew for each lease and whenever the served machines change. It first names all units. The agent
also wakes, at its start, the units that have a folder here and, each time that the stream is opened, the units that
were named before: they may be gone, and then the stream does not name them. A state directory has one agent: a second
one waits until the first has ended, and then takes its units over.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tinkwell.client import backoff, errors, retry
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.unit.agent.api import UnitApi
from tinkwell.client.unit.agent.outcome import OutcomeFolder
from tinkwell.core.unit.kinds import CharmKind
from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.state_dir import state_dir
from tinkwell.provisioner.unit import address, sweep
from tinkwell.provisioner.unit.dispatch.venv import Venvs
from tinkwell.provisioner.unit.folder import Folders
from tinkwell.provisioner.unit.host import Host
from tinkwell.provisioner.unit.tool import installation
from tinkwell.provisioner.unit.tool.command import table
from tinkwell.provisioner.unit.tool.desk import Desk
from tinkwell.provisioner.unit.unit import Unit
from tinkwell.provisioner.unit.warm import pool as pools

logger = logging.getLogger(__name__)

# The time between two checks whether the lease has changed, or whether the lock is free.
CHECK_SECONDS = 1.0
KINDS = (CharmKind.SCRIPTS, CharmKind.OPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent for units. `machines` returns the served machines; it is called again every `resync_seconds`.

    `storages` and `history` are as in `Host`. `account` is the account that programs run as, None for the agent's own.
    `is_cold`: each event of a charm of ops starts a new Python.
    """

    api: UnitApi
    storages: Callable[[str], Awaitable[frozenset[str]]]
    history: Callable[[], Awaitable[str]]
    lease: Keeper
    path: Path
    machines: Callable[[], Awaitable[frozenset[str]]]
    concurrency: int = 8
    resync_seconds: float = 30.0
    account: Account | None = None
    is_cold: bool = False

    async def run(self) -> NoReturn:
        """Work until cancelled, which ends running programs.

        Raises `state_dir.StateError` if the folder cannot be used, and an `errors.Error` that no retry can mend.
        """
        async with contextlib.AsyncExitStack() as stack:
            try:
                host = await self._open(stack)
            except OSError as error:
                what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
                raise state_dir.StateError(f"units cannot be run from {self.path}: {what}") from error
            async with asyncio.TaskGroup() as group:
                group.create_task(sweep.sweep_again_and_again(host), name="storages")
                await _Watcher(self, host, group).run()
        raise AssertionError("it never ends by itself")

    async def _open(self, stack: contextlib.AsyncExitStack) -> Host:
        """Lock the folder, and prepare everything that the units share. Raises `OSError`."""
        folders = await asyncio.to_thread(Folders, self.path, self.account)
        stack.callback(os.close, await _lock(folders.lock))
        venvs = Venvs(folders.venvs, self.account)
        if self.account is not None:
            await asyncio.to_thread(installation.check_account, self.account)
        await asyncio.to_thread(installation.install, folders.tools, table.NAMES)
        await asyncio.to_thread(lambda: venvs.sweep(folders.digests()))
        callers = {os.geteuid() if self.account is None else self.account.uid}
        desk = await stack.enter_async_context(Desk(folders.socket, callers).serving())
        pool = None
        if self.is_cold:
            await asyncio.to_thread(pools.end_former, folders.servers)
        else:
            program = await asyncio.to_thread(installation.install_server, folders.tools)
            pool = await stack.enter_async_context(pools.Pool(folders.servers, program, self.account).serving())
        return Host(
            api=self.api,
            storages=self.storages,
            history=self.history,
            lease=self.lease,
            folders=folders,
            outcomes=OutcomeFolder(folders.outcomes),
            desk=desk,
            venvs=venvs,
            address=await asyncio.to_thread(address.own),
            pool=pool,
        )


class _Watcher:
    """Reads the stream and wakes units. Each unit is a task of the group."""

    def __init__(self, agent: Agent, host: Host, group: asyncio.TaskGroup) -> None:
        self._agent = agent
        self._host = host
        self._group = group
        self._places = asyncio.Semaphore(agent.concurrency)
        self._units: dict[str, Unit] = {}
        self._pause = backoff.Backoff()

    async def run(self) -> NoReturn:
        await self._agent.lease.token()  # Without a lease, the server answers no questions.
        for unit_id in self._host.folders.unit_ids():
            self._wake(unit_id)
        while True:
            machines = await retry.until_answered(self._agent.machines, what="list machines")
            watching = asyncio.ensure_future(self._watch(machines))
            checking = asyncio.ensure_future(self._until_other(machines))
            try:
                await asyncio.wait([watching, checking], return_when=asyncio.FIRST_COMPLETED)
            finally:
                watching.cancel()
                checking.cancel()
                ended = await asyncio.gather(watching, checking, return_exceptions=True)
            await self._recover(ended[0])

    async def _watch(self, machines: frozenset[str]) -> None:
        """Wake units until the stream ends, which may raise an `errors.Error`."""
        token = await self._agent.lease.token()
        logger.info("this provisioner serves units", extra={"machines": len(machines)})
        # A unit that was removed while the stream was closed is not named by the new stream.
        known = tuple(self._units)
        async for unit_ids in self._agent.api.wakes(token, kinds=KINDS, machines=sorted(machines), anywhere=True):
            self._pause.reset()
            for unit_id in (*known, *unit_ids):
                self._wake(unit_id)
            known = ()

    async def _until_other(self, machines: frozenset[str]) -> None:
        """Return when the lease or the served machines have changed."""
        token, clock = await self._agent.lease.token(), asyncio.get_running_loop().time
        asked_at = clock()
        while self._agent.lease.is_own(token):
            await asyncio.sleep(CHECK_SECONDS)
            if clock() - asked_at >= self._agent.resync_seconds:
                if await retry.until_answered(self._agent.machines, what="list machines") != machines:
                    return
                asked_at = clock()

    async def _recover(self, ended: BaseException | None) -> None:
        """Wait a little if the stream has failed; raises an error that no retry can mend."""
        if isinstance(ended, asyncio.CancelledError):
            return
        if ended is not None and (not isinstance(ended, errors.Error) or isinstance(ended, retry.HOPELESS)):
            raise ended
        logger.info("the server's stream of units has ended; it is opened again soon", extra={"cause": str(ended)})
        await asyncio.sleep(self._pause.next_seconds())

    def _wake(self, unit_id: str) -> None:
        if unit_id not in self._units:
            self._units[unit_id] = Unit(self._host, unit_id, self._places)
            self._group.create_task(self._run(unit_id), name=f"unit {unit_id}")
        self._units[unit_id].wake()

    async def _run(self, unit_id: str) -> None:
        try:
            await self._units[unit_id].run()
        finally:
            del self._units[unit_id]


async def _lock(path: Path) -> int:
    """Wait until no other agent uses the folder, and return the descriptor that holds the lock."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    is_told = False
    try:
        while not _is_locked(handle):
            if not is_told:
                logger.info("another agent serves units from this state directory; waiting for its end")
                is_told = True
            await asyncio.sleep(CHECK_SECONDS)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _is_locked(handle: int) -> bool:
    """Try to lock a file; False if another process has locked it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
