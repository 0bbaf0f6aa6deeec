"""The product's own commands as real processes, with their output at hand, and none of them left behind."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from support import waiting

COMMAND = str(Path(sys.executable).with_name("tinkwell"))
_STOP_SECONDS = 20


class Process:
    """A running command. Both of its outputs go to one file, which is read as it grows."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How the command ended; None while it runs."""
        return self._process.returncode

    @property
    def output(self) -> str:
        """All that the command has written so far."""
        return self._log.read_text(errors="replace")

    async def line(self, pattern: str, *, deadline_seconds: float = 30) -> re.Match[str]:
        """Wait for a line that matches and return the match. Fails at once when the process ends without it."""
        compiled = re.compile(pattern, re.MULTILINE)

        def seen() -> bool:
            if self._process.returncode is not None and not compiled.search(self.output):
                raise AssertionError(f"ended with {self._process.returncode} before {pattern!r}:\n{self.output}")
            return compiled.search(self.output) is not None

        try:
            await waiting.eventually(seen, deadline_seconds=deadline_seconds, interval_seconds=0.02)
        except TimeoutError:
            raise AssertionError(f"no line matched {pattern!r}:\n{self.output}") from None
        found = compiled.search(self.output)
        assert found is not None
        return found

    async def wait(self, *, deadline_seconds: float = 30) -> int:
        """Wait until the command ends and return its exit code."""
        async with asyncio.timeout(deadline_seconds):
            return await self._process.wait()

    async def stop(self, number: signal.Signals = signal.SIGTERM, *, deadline_seconds: float = _STOP_SECONDS) -> int:
        """Send a signal, wait for the end, and return the exit code."""
        if self._process.returncode is None:
            self._process.send_signal(number)
        return await self.wait(deadline_seconds=deadline_seconds)


@asynccontextmanager
async def running(
    *arguments: str,
    log: Path,
    environment: Mapping[str, str] | None = None,
    program: str = COMMAND,
    folder: Path | None = None,
) -> AsyncIterator[Process]:
    """Start `tinkwell ARGUMENTS`, in a folder if given, and end it with the block, by force if need be.

    The environment is added to this process's own, from which all of the product's settings are taken away first.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TINKWELL_")}
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            env={**inherited, "PYTHONUNBUFFERED": "1", **(environment or {})},
            cwd=folder,
            start_new_session=True,
        )
    try:
        yield Process(process, log)
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise AssertionError(f"the command did not end within {_STOP_SECONDS} s of SIGTERM") from None
