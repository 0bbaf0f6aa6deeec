"""Another log takes the place of the present one: a standby is promoted, or a dump is restored.

Each returns whether it really happened, and notes in the chronicle what the former log held.
"""

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import asyncpg

from support.chaos import archive, session
from support.chaos.chronicle import Turn
from support.chaos.scene import Scene
from support.history.record import Row
from support.waiting import eventually
from tinkwell.core.event.retention import StepFailed
from tinkwell.server.app.dev import binaries, postgres

logger = logging.getLogger(__name__)

_OLDEST = "SELECT oldest_revision FROM event_history"
# The history's id, once a server has seen that the log is another one.
_PENDING = """
    SELECT inhrelid::regclass::text AS name FROM pg_inherits
     WHERE inhparent = to_regclass('events') AND inhdetachpending
"""
_NAMED = "SELECT history_id::text FROM event_history WHERE identity = log_identity()"
_NAMED_SECONDS = 90
_HOLDS_LOG = """
    SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'relation' AND relation = to_regclass('events')
                      AND mode = 'AccessExclusiveLock' AND granted)
"""
_PROGRAM_SECONDS = 240
# The index of a partition leaves with that of its parent, and pg_restore tries to drop it before.
_WRONG, _HARMLESS = "error:", "cannot drop inherited constraint"
_FIRST = "DROP TABLE IF EXISTS events CASCADE;\n"
# Whoever is in the way of a restore gives way, not the restore.
_INSISTENT = "-c deadlock_timeout=1min"
_NOT_READY = (AssertionError, TimeoutError, postgres.NotRunning, StepFailed, *session.ERRORS)


class Successions:
    """Puts other logs in the place of the present one."""

    def __init__(self, scene: Scene, *, directory: Path) -> None:
        self._scene = scene
        self._chance = scene.chance
        self._dump = directory / "chaos.dump"
        self._script = directory / "chaos.sql"
        self._log = directory / "restore.log"

    async def fail_over(self) -> bool:
        """Build a standby, stop the primary, and promote; what the standby had not got is lost."""
        scene, pair = self._scene, self._scene.pair
        async with pair.lock, scene.chronicle.lock:
            try:
                standby = await pair.add_standby()
            except _NOT_READY:
                logger.debug("there is no standby", exc_info=True)
                return False
            try:
                await scene.gateway.open(pair.spare)
                holds_until = time.time()
                await standby.catch_up()
                await asyncio.sleep(self._scene.moment(0, 2))
            except _NOT_READY:
                logger.debug("the standby does not follow", exc_info=True)
                await scene.gateway.shut(pair.spare)
                await pair.drop_standby()
                return False
            is_fast = self._chance.random() < 0.5
            begun_at = time.time()
            await pair.stop_primary(signal.SIGINT if is_fast else signal.SIGQUIT)
            # A primary that is stopped in order waits until its standby has everything.
            holds_until = time.time() if is_fast else holds_until
            await scene.gateway.shut(pair.primary)
            await asyncio.sleep(self._scene.moment(0, 1))
            await standby.promote()
            pair.take_over()
            rows, oldest = await self._look_at_former()
            await self._turn(rows, oldest, begun_at=begun_at, holds_until=holds_until, is_piecemeal=False)
        return True

    async def _look_at_former(self) -> tuple[list[Row], int]:
        """Start the former primary where no server finds it, and read what its log held at its end."""
        url = await self._scene.pair.raise_former()
        try:
            return await _read(url)
        finally:
            await self._scene.pair.drop_standby()

    async def restore(self, *, is_piecemeal: bool) -> bool:
        """Dump the database, and restore that a little later; what was written in between is lost."""
        scene = self._scene
        async with scene.pair.lock, scene.chronicle.lock:
            dumped_at = time.time()
            if await self._run("pg_dump", "--format=custom", "--compress=0", f"--file={self._dump}", self._target):
                return False
            await asyncio.sleep(self._scene.moment(0, 2))
            # Where tables come back one by one, so do their triggers, and nothing may be written meanwhile.
            found = await (self._restore_in_silence() if is_piecemeal else self._restore_at_once())
            if found is None:
                return False
            rows, oldest, begun_at = found
            await self._turn(rows, oldest, begun_at=begun_at, holds_until=dumped_at, is_piecemeal=is_piecemeal)
        return True

    async def _restore_in_silence(self) -> tuple[list[Row], int, float] | None:
        try:
            async with self._scene.silence():
                rows, oldest = await _read(self._scene.pair.url)
                begun_at = time.time()
                await _finish_forgetting(self._scene.pair.url)
                await self._run("pg_restore", "--clean", "--if-exists", self._target, str(self._dump))
                wrong = [line for line in self._said().splitlines() if _WRONG in line and _HARMLESS not in line]
                assert not wrong, f"pg_restore failed: {wrong}"
        except (TimeoutError, StepFailed, *session.ERRORS):
            return None
        return rows, oldest, begun_at

    async def _restore_at_once(self) -> tuple[list[Row], int, float] | None:
        """Restore in one transaction, while everybody tries to write from the moment on that the log is locked."""
        async with asyncio.TaskGroup() as tasks:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    await stack.enter_async_context(self._scene.silence())
                    rows, oldest = await _read(self._scene.pair.url)
                except (TimeoutError, StepFailed, *session.ERRORS):
                    return None
                begun_at = time.time()
                running = tasks.create_task(self._restore_by_script())
                async with session.connected(self._scene.pair.url) as connection:
                    await _wait_until_locked(connection, running)
            code = await running
        if code:
            self._scene.ledger.complaints.append(f"restoring ended with {code}: {self._said()}")
            return None
        return rows, oldest, begun_at

    async def _restore_by_script(self) -> int:
        # By itself, pg_restore cannot do this in one transaction.
        code = await self._run("pg_restore", "--clean", "--if-exists", f"--file={self._script}", str(self._dump))
        if code == 0:
            self._script.write_text(_FIRST + self._script.read_text())
            options = ("--single-transaction", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={self._script}")
            code = await self._run("psql", *options, self._target)
        return code

    async def _turn(
        self, rows: Sequence[Row], oldest: int, *, begun_at: float, holds_until: float, is_piecemeal: bool
    ) -> None:
        history_id, oldest_now = "", 0

        async def is_named() -> bool:
            nonlocal history_id, oldest_now
            with contextlib.suppress(*session.ERRORS):
                async with session.connected(self._scene.pair.url) as connection:
                    history_id = await connection.fetchval(_NAMED) or ""
                    oldest_now = await connection.fetchval(_OLDEST) or 0
            return bool(history_id)

        # Where nobody gives the log another name, the judge will say so.
        with contextlib.suppress(TimeoutError):
            await eventually(is_named, deadline_seconds=_NAMED_SECONDS, interval_seconds=0.1)
        self._scene.chronicle.turn(
            Turn(
                rows=rows,
                oldest=oldest,
                history_id=history_id or self._scene.chronicle.present.history_id,
                oldest_now=oldest_now,
                begun_at=begun_at,
                holds_until=holds_until,
                is_piecemeal=is_piecemeal,
            )
        )
        self._scene.forgetting.oldest = oldest_now

    async def _run(self, name: str, *arguments: str) -> int:
        """Run one of PostgreSQL's programs, and return its exit code."""
        program = binaries.find(self._scene.pair.bin_dir).program(name)
        with self._log.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                program, *arguments, stdout=log, stderr=log, env={"PGOPTIONS": _INSISTENT}
            )
        try:
            async with asyncio.timeout(_PROGRAM_SECONDS):
                return await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    @property
    def _target(self) -> str:
        return f"--dbname={self._scene.pair.url}"

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-1_000:]


async def _read(database_url: str) -> tuple[list[Row], int]:
    """Read what a log holds, and the oldest revision that it keeps."""
    async with session.connected(database_url) as connection:
        oldest = await connection.fetchval(_OLDEST)
    return await archive.read_rows(database_url), oldest


async def _wait_until_locked(connection: asyncpg.Connection, running: "asyncio.Task[int]") -> None:
    async def is_locked() -> bool:
        return running.done() or await connection.fetchval(_HOLDS_LOG)

    await eventually(is_locked, deadline_seconds=_PROGRAM_SECONDS, interval_seconds=0.01)


async def _finish_forgetting(url: str) -> None:
    """End what a retention that was cut off has begun, beside which nothing can be dropped, as people would."""
    async with session.connected(url) as connection:
        for one in await connection.fetch(_PENDING):
            await connection.execute(f"ALTER TABLE events DETACH PARTITION {one['name']} FINALIZE")
