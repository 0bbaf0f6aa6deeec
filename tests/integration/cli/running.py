"""The real command in a process of its own, and a terminal for it."""

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import sys
import termios
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path

from support import waiting
from tinkwell.client import testing

TINKWELL = str(Path(sys.executable).with_name("tinkwell"))
WAIT_SECONDS = 60


@contextlib.asynccontextmanager
async def tinkwell(
    server: testing.FakeServer,
    *args: str,
    stdout: int = asyncio.subprocess.PIPE,
    stderr: int = asyncio.subprocess.PIPE,
    stdin: int = asyncio.subprocess.DEVNULL,
    term: str = "xterm",
) -> AsyncIterator[Process]:
    """Run the command; it is killed where the test leaves it running."""
    environment = {**os.environ, "TINKWELL_SERVER": server.address, "TERM": term}
    # Runners of tests may set a width, which would count for more than the terminal's own.
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        environment.pop(name, None)
    process = await asyncio.create_subprocess_exec(
        *(TINKWELL, *args), stdin=stdin, stdout=stdout, stderr=stderr, env=environment
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def line(process: Process, *, of_stderr: bool = False) -> str:
    """Read the next line, without its time."""
    stream = process.stderr if of_stderr else process.stdout
    assert stream is not None
    return (await stream.readline()).decode().partition("  ")[2].rstrip("\n")


async def end(process: Process) -> tuple[int, str, str]:
    stdout, stderr = await process.communicate()
    return process.returncode or 0, (stdout or b"").decode(), (stderr or b"").decode()


class Terminal:
    """A terminal of 100 columns that takes and remembers all that is written to it."""

    def __init__(self) -> None:
        self._controller, self.descriptor = pty.openpty()
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        os.set_blocking(self._controller, False)
        self._written = b""
        # All the time, since who writes to a full terminal waits.
        asyncio.get_running_loop().add_reader(self._controller, self._take)

    @property
    def text(self) -> str:
        self._take()
        return self._written.decode(errors="replace")

    def type(self, text: str) -> None:
        os.write(self._controller, text.encode())

    async def shows(self, text: str) -> None:
        try:
            await waiting.eventually(lambda: text in self.text, deadline_seconds=WAIT_SECONDS / 2)
        except TimeoutError:
            raise AssertionError(f"{text!r} was never shown, but {self.text[-2_000:]!r}") from None

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._controller)
        os.close(self._controller)
        os.close(self.descriptor)

    def _take(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                self._written += os.read(self._controller, 100_000)
