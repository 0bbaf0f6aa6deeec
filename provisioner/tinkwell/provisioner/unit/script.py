"""Runs one script of a charm, in a process group of its own, to its end or to its deadline.

    start ──▶ the process waits ──▶ its name is written down ──▶ it becomes the script ──▶ exit, or a signal

The process does nothing before its name (see `identity`) is on the disk, and dies if the agent dies first. So an agent
that begins finds whatever its predecessor has left running, and ends it before the event is given again.
What a script that succeeds has left in the background lives on, as the charm's work. What one that fails has left in
its process group ends with it.
"""

import asyncio
import codecs
import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from tinkwell.core.unit import limit
from tinkwell.provisioner.runtime.process import identity, offspring
from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.state_dir import state_dir

# How long a script has after SIGTERM before it is killed.
TERM_SECONDS = 10.0
# What holds a script's output open after its end is not waited for.
OUTPUT_SECONDS = 1.0
KILL_SECONDS = 10.0
_CHUNK_BYTES = 64 * 1024
# No character has more bytes than four.
_LINE_CHARACTERS = limit.LOG_LINE_BYTES // 4
WAIT = 'read -r _ && exec "$0" "$@" </dev/null'

# Hears a line, and from which stream it comes: STDOUT or STDERR.
Hear = Callable[[str, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program has ended: with a code, or by a signal, 0 for none.

    `is_late` where that was for its deadline, and `is_stopped` where somebody had asked for it.
    """

    code: int = 0
    signal: int = 0
    is_late: bool = False
    is_stopped: bool = False

    @property
    def is_success(self) -> bool:
        """Whether it has done what it was to do."""
        return self == Ending()


class Started(Protocol):
    """A process in a group of its own that waits to begin, with its outputs. Its number is its own until `reap`.

    `is_lost` is set when nobody will know how it ends.
    """

    pid: int
    out: IO[bytes]
    err: IO[bytes]
    is_lost: asyncio.Event

    def begin(self) -> None:
        """Let it become the script."""

    async def status(self) -> int | None:
        """Return how it has ended, once it is dead: its code, or -signal; None where nobody knows."""

    async def reap(self) -> None:
        """Let go of it, dead or not begun."""


# Has a process for a script that need not be started for it; None where it must.
Fork = Callable[["Script"], Awaitable[Started | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A program of a charm to run: its arguments, environment and working folder.

    `record` gets the name of its process. `account` is whom it runs as, None for the agent's own. Setting `stop` ends
    it. `fork` is asked for a process first.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    record: Path
    timeout_seconds: float
    account: Account | None = None
    stop: asyncio.Event | None = None
    fork: Fork | None = None
    line_characters: int = _LINE_CHARACTERS

    async def run(self, hear: Hear) -> Ending:
        """Run it to its end. Cancelling ends it as the deadline does. Raises `OSError` where it does not start."""
        until = asyncio.get_running_loop().time() + self.timeout_seconds
        process = await self._started()
        try:
            await asyncio.to_thread(state_dir.write_file, self.record, process.name)
            async with asyncio.TaskGroup() as group:
                readers = [
                    group.create_task(read, name=f"output of {self.argv[0]}")
                    for read in process.reads(hear, self.line_characters)
                ]
                process.begin()
                remaining_seconds = max(0.0, until - asyncio.get_running_loop().time())
                if not (has_ended := await process.has_ended(remaining_seconds, self.stop)):
                    await process.end()
                await asyncio.wait(readers, timeout=OUTPUT_SECONDS)
                for reader in readers:
                    reader.cancel()
        except BaseException:
            # It must not go on behind the back of who does not wait for it any more.
            await process.end()
            await process.reap()
            raise
        code = await process.reap()
        is_ours = not has_ended and not process.is_lost
        is_stopped = is_ours and self.stop is not None and self.stop.is_set()
        is_late = is_ours and not is_stopped
        return Ending(code=max(code, 0), signal=max(-code, 0), is_late=is_late, is_stopped=is_stopped)

    async def _started(self) -> "_Process":
        """Return a process that waits to begin. Raises `OSError` where there is none."""
        if self.fork is not None and (forked := await self.fork(self)) is not None:
            try:
                return _Process(forked)
            except OSError:  # it is dead already, and so is who has forked it
                await forked.reap()
        return _Process(_Cold(self))


class _Cold:
    """A process that is started for the script."""

    def __init__(self, script: Script) -> None:
        self._popen = subprocess.Popen(  # noqa: S603  (what it runs is what charms are for)
            ["/bin/sh", "-c", WAIT, *script.argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=script.folder,
            env=script.environment,
            process_group=0,
            user=None if script.account is None else script.account.uid,
            group=None if script.account is None else script.account.gid,
            extra_groups=None if script.account is None else script.account.groups,
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        self.pid = self._popen.pid
        self._gate, self.out, self.err = self._popen.stdin, self._popen.stdout, self._popen.stderr
        self.is_lost = asyncio.Event()

    def begin(self) -> None:
        """Let it become the script."""
        with contextlib.suppress(BrokenPipeError), self._gate as pipe:
            pipe.write(b"\n")
            pipe.flush()

    async def status(self) -> int | None:
        """Return how it has ended, which it must have."""
        return _status(self.pid)

    async def reap(self) -> None:
        """Let go of it."""
        for pipe in (self._gate, self.out, self.err):
            pipe.close()
        self._popen.wait()


class _Process:
    """The process of a script."""

    def __init__(self, started: Started) -> None:
        self._started = started
        self.name = identity.of(started.pid)
        self._handle = os.pidfd_open(started.pid)
        self._is_dead = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._handle, self._is_dead.set)

    @property
    def is_lost(self) -> bool:
        """Whether nobody knows how it ends."""
        return self._started.is_lost.is_set()

    def reads(self, hear: Hear, line_characters: int) -> Iterator[Coroutine[None, None, None]]:
        """Yield what hears each of its streams."""
        for name, stream in (("STDOUT", self._started.out), ("STDERR", self._started.err)):
            yield _read(stream, name, hear, line_characters)

    def begin(self) -> None:
        """Let it become the script."""
        self._started.begin()

    async def has_ended(self, seconds: float, stop: asyncio.Event | None = None) -> bool:
        """Wait for its end for so long, or until `stop` is set or it is lost, and say whether it has come."""
        return await self._wait(seconds, self._started.is_lost, *([] if stop is None else [stop]))

    async def end(self) -> None:
        """Ask it to end, and kill it where it does not, or is lost; waits for its death."""
        if not self.is_lost:
            self._signal_group(signal.SIGTERM)
            await self._wait(TERM_SECONDS)
        if not self._is_dead.is_set():
            self._signal_group(signal.SIGKILL)
            await self._is_dead.wait()

    async def reap(self) -> int:
        """Kill the group of one that has failed, and return how it has ended, which it must have.

        Of one that is lost nobody knows, so it is as if it was killed.
        """
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        try:
            code = await self._started.status()
            if code:
                self._signal_group(signal.SIGKILL)
        finally:
            await self._started.reap()
        return -signal.SIGKILL if code is None else code

    async def _wait(self, seconds: float, *others: asyncio.Event) -> bool:
        waiting = [asyncio.ensure_future(each.wait()) for each in (self._is_dead, *others)]
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return self._is_dead.is_set()

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._started.pid, number)


def _status(pid: int) -> int | None:
    """Return how a child has ended that is dead, which it remains: its code, or -signal."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def end_former(record: Path) -> None:
    """Kill the process that a dead agent has left, and what it has started; waits for its death, and forgets it.

    Raises `OSError` where it does not die.
    """
    try:
        name = record.read_text("ascii")
    except FileNotFoundError:
        return
    offspring.kill_tree(name)
    if (handle := identity.open_handle(name)) is not None:
        try:
            if not select.select([handle], [], [], KILL_SECONDS)[0]:
                raise OSError(f"process {name.split()[1]} does not die; end it by hand")
        finally:
            os.close(handle)
    record.unlink()


async def _read(pipe: IO[bytes], name: str, hear: Hear, line_characters: int) -> None:
    """Hear lines until nobody writes any more; one that is too long comes in parts."""
    stream, loop = asyncio.StreamReader(), asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = ""
    try:
        while chunk := await stream.read(_CHUNK_BYTES):
            *lines, text = (text + decoder.decode(chunk)).split("\n")
            for line in lines:
                for part in _parts(line, line_characters):
                    await hear(name, part)
            while len(text) >= line_characters:
                await hear(name, text[:line_characters])
                text = text[line_characters:]
        if text:
            await hear(name, text)
    finally:
        transport.close()


def _parts(line: str, characters: int) -> list[str]:
    return [line[at : at + characters] for at in range(0, max(len(line), 1), characters)]
