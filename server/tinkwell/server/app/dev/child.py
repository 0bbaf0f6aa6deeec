"""Child processes that cannot outlive this one.

The kernel signals them when the *thread* that started them ends, so they must be started from the main thread.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from tinkwell.server.app.dev import launch
from tinkwell.server.app.dev.account import Account


async def start(
    command: Sequence[str],
    *,
    death_signal: signal.Signals,
    output: IO[bytes] | int,
    account: Account | None = None,
    environment: Mapping[str, str] | None = None,
) -> asyncio.subprocess.Process:
    """Start the program at the full path `command[0]`. It receives the signal when this process ends for any reason.

    It has a session of its own, so that Ctrl-C at the terminal reaches only this process, which then ends it.
    """
    assert threading.current_thread() is threading.main_thread(), "the death signal follows the thread"
    uid, gid = (account.uid, account.gid) if account and account.uid != os.geteuid() else (-1, -1)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        launch.__file__,
        *(str(number) for number in (uid, gid, int(death_signal), os.getpid())),
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=asyncio.subprocess.STDOUT,
        cwd="/" if account else None,
        env=environment,
        start_new_session=True,
    )


async def stop(
    process: asyncio.subprocess.Process, signals: Sequence[signal.Signals], *, patience_seconds: float
) -> int:
    """End the process by the signals one after the other, each with some patience, then by SIGKILL.

    Return its exit code.
    """
    for number in (*signals, signal.SIGKILL):
        if process.returncode is not None:
            break
        process.send_signal(number)
        try:
            async with asyncio.timeout(patience_seconds):
                await process.wait()
        except TimeoutError:
            continue
    return await process.wait()


def tail(log: Path, *, lines: int = 12) -> str:
    """Return the last lines of a log, for a message about a process that failed."""
    try:
        text = log.read_bytes()[-16_384:].decode("utf-8", "replace")
    except OSError as error:
        return f"({error})"
    return "\n".join(text.strip().splitlines()[-lines:])
