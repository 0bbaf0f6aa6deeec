"""The parent's side: a child that starts when it is needed, answers one call at a time, and never outlives its owner.

The child runs in its own session, without this process's environment, site packages and files, except its three pipes.
It ends when its input ends, also if this process is killed. A call that fails or is cancelled ends the child; the next
call starts another one.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType

from tinkwell.sandbox import errors, frame
from tinkwell.sandbox.limit import Limits
from tinkwell.sandbox.room import Room

_log = logging.getLogger(__name__)

_START_SECONDS = 30
_SHOWN_CHARACTERS = 300
# Our paths come last, so that they cannot replace modules of the standard library.
_BOOT = "import sys; sys.path += sys.argv[3:]; from tinkwell.sandbox import runner; runner.main(*sys.argv[1:3])"
_ROOT = Path(__file__).parents[2]
_MIB = 1024 * 1024


class Child:
    """A limited child process that runs `module` (see `runner`).

    Calls wait for each other; the callers bound their number.
    """

    def __init__(
        self, module: str, paths: Sequence[Path], *, limits: Limits | None = None, room: Room | None = None
    ) -> None:
        """Nothing is started yet. `paths` are further folders to import from, after the standard library.

        A `room` bounds how many children live at once; the default is a room for this child alone.
        """
        self._module = module
        self._paths = (_ROOT, *paths)
        self._limits = limits or Limits()
        self._room = room or Room(1)
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        # The current piece of work, as the child named it.
        self._piece = ""
        self._is_closed = False
        self._is_told = False

    @property
    def pid(self) -> int | None:
        """The process id of the child, while there is one."""
        return self._process.pid if self._process else None

    async def __aenter__(self) -> "Child":
        """Nothing starts before the first call."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the child."""
        await self.close()

    async def call(self, request: bytes) -> bytes:
        """Send a request and return the answer, both JSON texts. Raises `errors.SandboxError`.

        The caller parses the answer, because callers read numbers differently.
        """
        async with self.held() as ask:
            return await ask(request)

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[Callable[[bytes], Awaitable[bytes]]]:
        """Hold the child for several calls with the yielded function: no other caller gets it between these."""
        async with self._turn, self._room.place(self):
            yield self._call

    async def _call(self, request: bytes) -> bytes:
        if len(request) > self._limits.request_bytes:
            raise errors.Exceeded(f"has {len(request):,} bytes; at most {self._limits.request_bytes:,} are allowed")
        process = await self._ready_process()
        is_answered = False
        try:
            async with asyncio.timeout(self._limits.wall_seconds):
                answer = await self._exchange(process, request)
            is_answered = True
        except TimeoutError:
            raise self._exceeded(f"takes longer than {self._limits.wall_seconds:g} s") from None
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            await self._stop()
            raise self._ended(process.returncode) from error
        finally:
            # The next call would read the rest of this one's answer.
            if not is_answered:
                await self._stop()
        return answer

    async def close(self) -> None:
        """End the child, also within a call, which then raises `errors.Died`. Later calls raise `NotStarted`."""
        self._is_closed = True
        self._kill()
        async with self._turn:
            await self._stop()
        self._room.forget(self)

    async def rest(self) -> None:
        """End the idle process; the next call starts another one."""
        await self._stop()

    async def _ready_process(self) -> asyncio.subprocess.Process:
        if self._process and self._process.returncode is not None:
            # It was killed between two calls.
            await self._stop()
        process = self._process
        if process is None and not self._is_closed:
            process = await self._start()
        if process is None or self._is_closed:
            raise errors.NotStarted("the child process was closed")
        return process

    async def _exchange(self, process: asyncio.subprocess.Process, request: bytes) -> bytes:
        assert process.stdin
        assert process.stdout
        self._piece = ""
        process.stdin.write(frame.pack(frame.CALL, request))
        await process.stdin.drain()
        while True:
            kind, size = frame.HEADER.unpack(await process.stdout.readexactly(frame.HEADER.size))
            if size > self._limits.answer_bytes or kind == frame.TOO_LARGE:
                raise errors.Exceeded(f"gives more than {self._limits.answer_bytes // _MIB:,} MiB in all")
            body = await process.stdout.readexactly(size)
            match kind:
                case frame.ANSWER:
                    return body
                case frame.PIECE:
                    self._piece = body.decode(errors="replace")
                case _:
                    raise errors.Failed(f"the module of the child process failed: {body.decode(errors='replace')}")

    async def _start(self) -> asyncio.subprocess.Process:
        command = (sys.executable, "-I", "-S", "-c", _BOOT, self._limits.dump(), self._module, *map(str, self._paths))
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={},
                start_new_session=True,
            )
        except OSError as error:
            raise errors.NotStarted(f"the child process cannot be started: {error}") from error
        self._process = process
        is_ready = False
        try:
            async with asyncio.timeout(_START_SECONDS):
                kept = await _ready(process)
            is_ready = True
        except TimeoutError:
            raise errors.NotStarted(f"the child process is not ready after {_START_SECONDS} s") from None
        finally:
            if not is_ready:
                await self._stop()
        if kept and not self._is_told:
            _log.info("the child process keeps this process's network: %s", kept)
            self._is_told = True
        return process

    def _kill(self) -> None:
        # After the wait its number may belong to another process.
        if self._process and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _stop(self) -> None:
        """Kill the child, and wait until all of it has ended."""
        self._kill()
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin
        process.stdin.close()
        # Reading the rest of the pipes closes them.
        await process.communicate()

    def _ended(self, code: int | None) -> errors.SandboxError:
        if code == frame.MEMORY_EXIT_CODE:
            return self._exceeded(f"needs more than {self._limits.memory_bytes // _MIB:,} MiB of memory")
        if code == -signal.SIGVTALRM:
            return self._exceeded(f"needs more than {self._limits.cpu_seconds:g} s of processor time")
        how = f"of signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        return errors.Died(f"the child process ended {how}", piece=self._piece)

    def _exceeded(self, reason: str) -> errors.Exceeded:
        return errors.Exceeded(reason, piece=self._piece)


async def _ready(process: asyncio.subprocess.Process) -> str:
    """Wait until the child has set its limits, and return why it keeps the network, or ""."""
    assert process.stdout
    assert process.stderr
    try:
        _, size = frame.HEADER.unpack(await process.stdout.readexactly(frame.HEADER.size))
        return (await process.stdout.readexactly(size)).decode()
    except asyncio.IncompleteReadError as error:
        # The child has seen no input yet, so its output may be shown.
        printed = (await process.stderr.read()).decode(errors="replace").strip().splitlines() or ["it says nothing"]
        raise errors.NotStarted(f"the child process cannot be started: {printed[-1][:_SHOWN_CHARACTERS]}") from error
