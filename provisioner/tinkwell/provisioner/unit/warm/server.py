"""The agent's side of a fork server: starts one, has it fork, and knows how its children end.

    start ──▶ its name is written down ──▶ it loads ops ──▶ forks, each of which waits for its name to be written down

As a program of a charm it begins only once its name (see `identity`) is on the disk, and ends when its agent does; an
agent that begins ends what its predecessor has left all the same. Nothing that it says is believed without a look: it
runs as its charm's account, as its children do.
"""

import asyncio
import contextlib
import os
import select
import socket
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tinkwell.provisioner.runtime.process import identity
from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.state_dir import state_dir
from tinkwell.provisioner.unit.script import WAIT
from tinkwell.provisioner.unit.warm import program
from tinkwell.provisioner.unit.warm.recipe import Recipe

START_SECONDS = 60.0
ANSWER_SECONDS = 10.0
END_SECONDS = 1.0
# What of a charm's environment a process begins with that is forked for its events.
_FIRST = ("PATH", "HOME", "LANG", "TERM", "DEBIAN_FRONTEND", "LD_LIBRARY_PATH")
_MAX_ANSWER = 4_096
_MAX_SAID = 300
_NO_PROGRAM = (b"", b"", b"")


class Failed(Exception):
    """The fork server is unusable; the text says why."""


class Unfit(Exception):
    """The server cannot fork for this event, but can for others; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a server is started: by which program, for what recipe, in a charm's environment, and recorded where."""

    program: Path
    recipe: Recipe
    environment: Mapping[str, str]
    record: Path
    account: Account | None = None


class Server:
    """A fork server. `children` says how many of its forks have not been reaped.

    `is_proven` once it has told how one of them has ended.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        account = order.account
        environment = {name: order.environment[name] for name in _FIRST if name in order.environment}
        with theirs:
            self._popen = subprocess.Popen(  # noqa: S603  (what it runs is what charms are for)
                ["/bin/sh", "-c", WAIT, order.recipe.python, str(order.program), str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                env=environment,
                process_group=0,
                pass_fds=(theirs.fileno(),),
                user=None if account is None else account.uid,
                group=None if account is None else account.gid,
                extra_groups=None if account is None else account.groups,
            )
        self.name = identity.of(self._popen.pid)
        self.children = 0
        self.is_proven = False
        self.is_dead = asyncio.Event()
        self._handle = os.pidfd_open(self._popen.pid)
        asyncio.get_running_loop().add_reader(self._handle, self._note_death)
        self._number = 0
        self._turn = asyncio.Lock()

    async def prepare(self) -> None:
        """Have it load ops. Raises `Failed` and `OSError`."""
        await asyncio.to_thread(state_dir.write_file, self._order.record, self.name)
        assert self._popen.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._popen.stdin as pipe:
            pipe.write(b"\n")
            pipe.flush()
        recipe = self._order.recipe
        parts = (recipe.folder, recipe.script, recipe.modules)
        wanted = tuple(os.fsencode(each) for each in parts) if recipe.is_own else _NO_PROGRAM
        answer, *said = await self._ask((b"prepare", *wanted), seconds=START_SECONDS)
        heard = self._hear()
        if answer != b"ready":
            raise Failed(b" ".join(said).decode(errors="replace"))
        if heard:
            # A start would say that with each event.
            raise Failed(f"ops says something when it is loaded: {heard}")

    async def fork(self, recipe: Recipe, environment: Mapping[str, str]) -> "Child":
        """Fork, and return the child, which waits. Raises `Failed` and `Unfit`."""
        variables = (os.fsencode(f"{name}={value}") for name, value in environment.items())
        names = (os.fsencode(each) for each in (recipe.folder, recipe.script, recipe.modules))
        parts = (b"fork", *names, *variables)
        if sum(len(part) + 1 for part in parts) > program.MAX_BYTES - _MAX_ANSWER:
            raise Unfit("its environment is too long")
        ours, theirs = _pipes()
        try:
            answer, *said = await self._ask(parts, theirs)
            return Child(self, self._checked(answer, said), ours)
        except BaseException:
            for handle in ours:
                os.close(handle)
            raise

    async def status(self, pid: int) -> int | None:
        """Return how a child that is dead has ended: its code, or -signal; None where nobody knows."""
        with contextlib.suppress(Failed, ValueError):
            answer, *said = await self._ask((b"status", b"%d" % pid))
            if answer == b"ended" and said:
                code = int(said[0])
                self.is_proven = True
                return code
        return None

    async def reap(self, pid: int) -> None:
        """Have it let go of a child, so that the number is nobody's once that is dead."""
        with contextlib.suppress(Failed):
            await self._ask((b"reap", b"%d" % pid))

    async def end(self) -> None:
        """End it; its children are left alone. Raises `OSError` where its record cannot be removed."""
        # Whoever waits for an answer hears so, and lets go of the socket before its number may be another's.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        async with self._turn:
            self._socket.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self.is_dead.wait()
        self._popen.kill()
        await self.is_dead.wait()
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()
        await asyncio.to_thread(self._order.record.unlink, missing_ok=True)

    def _note_death(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self.is_dead.set()

    async def _ask(
        self, parts: Sequence[bytes], handles: Sequence[int] = (), *, seconds: float | None = None
    ) -> list[bytes]:
        """Ask, and return the answer. Who is cancelled meanwhile leaves the turn of others as it is."""
        asking = asyncio.ensure_future(self._exchange(parts, handles, seconds or ANSWER_SECONDS))
        asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(asking)

    async def _exchange(self, parts: Sequence[bytes], handles: Sequence[int], seconds: float) -> list[bytes]:
        loop = asyncio.get_running_loop()
        try:
            async with self._turn, asyncio.timeout(seconds):
                self._number += 1
                number = b"%d" % self._number
                try:
                    socket.send_fds(self._socket, [b"\0".join((number, *parts))], handles)
                finally:
                    _close(handles)
                    handles = ()
                while True:
                    content = await loop.sock_recv(self._socket, _MAX_ANSWER)
                    found, *answer = content.split(b"\0")
                    if not answer:
                        raise Failed("its process has ended" if not content else "it answers what is no answer")
                    # Else it is one that nobody has waited for.
                    if found == number:
                        return answer
        except TimeoutError:
            raise Failed(f"it has not answered within {seconds:.0f} s") from None
        except OSError as error:
            raise Failed(f"it cannot be asked: {error}") from error
        finally:
            _close(handles)

    def _checked(self, answer: bytes, said: Sequence[bytes]) -> int:
        """Return the number of a child that an answer tells: it must be the server's, in a group of its own."""
        if answer != b"child":
            why = b" ".join(said).decode(errors="replace")
            raise Unfit(why) if answer == b"unfit" else Failed(why)
        try:
            pid = int(said[0])
            stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except (LookupError, ValueError, OSError) as error:
            raise Failed(f"it names no child: {error}") from error
        if (int(stat[1]), int(stat[2])) != (self._popen.pid, pid):
            raise Failed(f"process {pid} is none of its children")
        return pid

    def _hear(self) -> str:
        """Return what it has said on its outputs, which are closed then."""
        heard = b""
        for pipe in (self._popen.stdout, self._popen.stderr):
            assert pipe is not None
            if select.select([pipe], [], [], 0)[0]:
                heard += os.read(pipe.fileno(), _MAX_SAID)
            pipe.close()
        return " ".join(heard.decode(errors="replace").split())


class Child:
    """A child that waits to begin; it ends if it never does."""

    def __init__(self, server: Server, pid: int, handles: Iterable[int]) -> None:
        self._server = server
        self.pid = pid
        out, err, self._gate = handles
        self.out: IO[bytes] = os.fdopen(out, "rb", 0)
        self.err: IO[bytes] = os.fdopen(err, "rb", 0)
        self.is_lost = server.is_dead
        server.children += 1

    def begin(self) -> None:
        """Let it go on."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._gate, b"\n")
        os.close(self._gate)
        self._gate = -1

    async def status(self) -> int | None:
        """Return how it has ended, once it is dead; None where nobody knows."""
        return await self._server.status(self.pid)

    async def reap(self) -> None:
        """Let go of it, dead or not begun."""
        if self._gate >= 0:
            os.close(self._gate)
        self.out.close()
        self.err.close()
        self._server.children -= 1
        await self._server.reap(self.pid)


def _pipes() -> tuple[list[int], list[int]]:
    """Return two pipes to read from and one to write to, and their other sides. Raises `Unfit`."""
    pipes: list[tuple[int, int]] = []
    try:
        for _ in range(3):
            pipes.append(os.pipe())  # noqa: PERF401  (those that were made must be known)
    except OSError as error:
        _close(handle for pipe in pipes for handle in pipe)
        raise Unfit(f"there is no pipe for it: {error}") from error
    (out, their_out), (err, their_err), (their_gate, gate) = pipes
    return [out, err, gate], [their_out, their_err, their_gate]


def _close(handles: Iterable[int]) -> None:
    for handle in handles:
        with contextlib.suppress(OSError):
            os.close(handle)
