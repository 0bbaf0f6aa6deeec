"""A running worker as its supervisor sees it: a process, and the channel to it."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tinkwell.server.app.dev import child, launch
from tinkwell.server.app.workers.channel import Channel

# How long a process may take to end after its end of the channel was closed.
_EXIT_SECONDS = 5


class NotStarted(Exception):
    """The system cannot start another process, perhaps only for a moment. The text is the system's error message."""


class Member:
    """A worker process.

    `ready` gets the address at which it serves. `failure` is the reason why it does not serve, once it has sent one.
    """

    def __init__(self, running: asyncio.subprocess.Process, channel: Channel, *, ask_seconds: float) -> None:
        self._process = running
        self._channel = channel
        self._ask_seconds = ask_seconds
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._asked = 0
        self.ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.failure = ""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_ready(self) -> bool:
        """Whether it has reported that it accepts calls."""
        return self.ready.done()

    async def follow(self) -> str:
        """Receive its messages until it ends; return how it ended, such as "exit code 1" or "SIGKILL".

        A process that closes its channel and runs on has ended by "closing its channel".
        """
        while (message := await self._channel.receive()) is not None:
            if "answer" in message:
                waiting = self._answers.pop(message["id"], None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message["answer"])
            elif "ready" in message:
                self.ready.set_result(message["ready"])
            else:
                self.failure = message["failed"]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_SECONDS):
                await self._process.wait()
        code = self._process.returncode
        if code is None:
            return "closing its channel"
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    async def ask(self, question: str) -> Any:
        """Ask for its `liveness`, `readiness` or `metrics`. Return None if no answer comes in time."""
        self._asked += 1
        number = self._asked
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self._ask_seconds):
                await self._channel.send({"id": number, "ask": question})
                return await answer
        except (TimeoutError, ConnectionError):
            return None
        finally:
            self._answers.pop(number, None)


@asynccontextmanager
async def started(
    command: Sequence[str], order: dict[str, Any], *, patience_seconds: float, ask_seconds: float
) -> AsyncIterator[Member]:
    """Run a worker during the block. Afterwards it is told to end, and killed after `patience_seconds`.

    `order` is the first message to it: its number and its settings (`channel`).

    Raises `NotStarted`.
    """
    async with contextlib.AsyncExitStack() as stack:
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                channel = await Channel.over(ours)
                stack.push_async_callback(channel.close)
                running = await _start(command, control=theirs)
        except OSError as error:
            raise NotStarted(error.strerror or str(error)) from error
        stack.push_async_callback(child.stop, running, (signal.SIGTERM,), patience_seconds=patience_seconds)
        channel.post(order)
        yield Member(running, channel, ask_seconds=ask_seconds)


async def _start(command: Sequence[str], *, control: socket.socket) -> asyncio.subprocess.Process:
    # `launch` has the kernel kill the worker when the thread that started it ends. A session of its own keeps Ctrl-C
    # from it: the supervisor ends it. It is a new program, not a fork, because a fork would lack gRPC's threads.
    assert threading.current_thread() is threading.main_thread(), "the death signal follows the thread"
    keep_account = ("-1", "-1")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        launch.__file__,
        *keep_account,
        str(int(signal.SIGKILL)),
        str(os.getpid()),
        *command,
        stdin=control.fileno(),
        stdout=sys.__stderr__,
        start_new_session=True,
    )
