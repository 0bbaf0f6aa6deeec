"""One running worker as its supervisor sees it: a process, and the channel to it."""

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

_ASK_SECONDS = 4
# From the end of the channel, which a process closes when it ends, to the end of the process.
_EXIT_SECONDS = 5


class NotStarted(Exception):
    """The system has no room for another process or its sockets, perhaps for a moment; the text is its own."""


class Member:
    """A worker that has been started. `failure` is what kept it from serving, once it has said so."""

    def __init__(self, running: asyncio.subprocess.Process, channel: Channel) -> None:
        self._process = running
        self._channel = channel
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._asked = 0
        self.ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.failure = ""

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def is_ready(self) -> bool:
        """Whether it has said that it accepts calls."""
        return self.ready.done()

    async def follow(self) -> str:
        """Take its messages until it ends; return how it ended, such as "exit code 1" or "SIGKILL"."""
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
        """Ask for its `liveness`, `readiness` or `metrics`; None when no answer comes in time."""
        self._asked += 1
        number = self._asked
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(_ASK_SECONDS):
                await self._channel.send({"id": number, "ask": question})
                return await answer
        except (TimeoutError, ConnectionError):
            return None
        finally:
            self._answers.pop(number, None)


@asynccontextmanager
async def started(command: Sequence[str], order: dict[str, Any], *, patience_seconds: float) -> AsyncIterator[Member]:
    """Run a worker for the length of the block: told to end then, and killed when it takes longer than the patience.

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
        yield Member(running, channel)


async def _start(command: Sequence[str], *, control: socket.socket) -> asyncio.subprocess.Process:
    # The kernel kills the worker when the thread that started it ends. A session of its own keeps Ctrl-C from it: the
    # supervisor ends it in its turn. It is a new program, not a fork, since gRPC's threads would be missing in a fork.
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
