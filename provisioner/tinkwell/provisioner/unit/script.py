"""Runs one script of a charm, in its own process group, to its end or to its deadline.

    start ──▶ the process waits ──▶ its name is written to the disk ──▶ it becomes the script ──▶ exit, or a signal

The process does nothing before its name (see `identity`) is on the disk, and it dies if the agent dies before that. So
a new agent finds the process that its predecessor has left, and ends it before the event is given again.
Background processes of a script that succeeds go on, since they are the charm's work. If a script fails, the processes
that it has left in its process group are killed.
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
# How long the output is read after a script's end, since background processes may hold it open.
OUTPUT_SECONDS = 1.0
KILL_SECONDS = 10.0
_CHUNK_BYTES = 64 * 1024
# A character has at most four bytes.
_LINE_CHARACTERS = limit.LOG_LINE_BYTES // 4
WAIT = 'read -r _ && exec "$0" "$@" </dev/null'

# Takes the stream, STDOUT or STDERR, and a line.
Hear = Callable[[str, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program has ended: with an exit code, or by a signal; `signal` is 0 if there was none.

    `is_late`: it was ended at its deadline. `is_stopped`: it was ended because `stop` was set.
    """

    code: int = 0
    signal: int = 0
    is_late: bool = False
    is_stopped: bool = False

    @property
    def is_success(self) -> bool:
        """Whether it has exited with code 0, in time and unstopped."""
        return self == Ending()


class Started(Protocol):
    """A process in its own group that waits to begin, with its outputs. No other process gets its pid until `reap`.

    `is_lost` is set if its exit code cannot be known.
    """

    pid: int
    out: IO[bytes]
    err: IO[bytes]
    is_lost: asyncio.Event

    def begin(self) -> None:
        """Let it become the script."""

    async def status(self) -> int | None:
        """Return how it has ended, once it is dead: its exit code, or -signal; None if that is not known."""

    async def reap(self) -> None:
        """Close its pipes and reap it. It must be dead, or not have begun."""


# Forks a process for a script from a fork server; None if a new process must be started.
Fork = Callable[["Script"], Awaitable[Started | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A program of a charm to run: its arguments, environment and working folder.

    `record` is the file for the name of its process. `account` is the account that it runs as, None for the agent's
    own. Setting `stop` ends it. `fork` is asked for a process first.
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
        """Run it to its end. Cancelling ends it as the deadline does. Raises `OSError` if it does not start."""
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
            # The process must not go on when nobody waits for it.
            await process.end()
            await process.reap()
            raise
        code = await process.reap()
        is_ours = not has_ended and not process.is_lost
        is_stopped = is_ours and self.stop is not None and self.stop.is_set()
        is_late = is_ours and not is_stopped
        return Ending(code=max(code, 0), signal=max(-code, 0), is_late=is_late, is_stopped=is_stopped)

    async def _started(self) -> "_Process":
        """Return a process that waits to begin. Raises `OSError` if none can be started."""
        if self.fork is not None and (forked := await self.fork(self)) is not None:
            try:
                return _Process(forked)
            except OSError:  # The process is dead already, and so is its fork server.
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
        """Return how it has ended; it must be dead."""
        return _status(self.pid)

    async def reap(self) -> None:
        """Close its pipes and reap it."""
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
        """Whether its exit code cannot be known."""
        return self._started.is_lost.is_set()

    def reads(self, hear: Hear, line_characters: int) -> Iterator[Coroutine[None, None, None]]:
        """Yield a coroutine for each of its outputs, which reads it to the end."""
        for name, stream in (("STDOUT", self._started.out), ("STDERR", self._started.err)):
            yield _read(stream, name, hear, line_characters)

    def begin(self) -> None:
        """Let it become the script."""
        self._started.begin()

    async def has_ended(self, seconds: float, stop: asyncio.Event | None = None) -> bool:
        """Wait until it ends, `seconds` have passed, `stop` is set or it is lost; return whether it has ended."""
        return await self._wait(seconds, self._started.is_lost, *([] if stop is None else [stop]))

    async def end(self) -> None:
        """End it by SIGTERM, and kill it if it does not end in time or is lost; waits for its death."""
        if not self.is_lost:
            self._signal_group(signal.SIGTERM)
            await self._wait(TERM_SECONDS)
        if not self._is_dead.is_set():
            self._signal_group(signal.SIGKILL)
            await self._is_dead.wait()

    async def reap(self) -> int:
        """Return how it has ended, and kill its group if it has failed. It must be dead.

        A lost process counts as killed.
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
    """Return how a dead child has ended, without reaping it: its exit code, or -signal."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def end_former(record: Path) -> None:
    """Kill the process that a dead agent has left, and all that it has started, and remove its record.

    Raises `OSError` if it does not die within `KILL_SECONDS`.
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
    """Read lines until all writers have closed the pipe; a line that is too long comes in parts."""
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
