"""The way of a run's output to the server.

One task reads lines, another sends what has gathered while the last batch was under way; so a line is sent at once when
little comes, and in batches when much does. Between them is a bounded queue. Full means wait: reading stops until the
server has taken some, and the runtime keeps what was not read yet.

An open line, such as a progress that is written over, is sent once a second at most, as it is by then.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from tinkwell.client import errors, retry
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import run_spec
from tinkwell.provisioner.runtime import output, port

logger = logging.getLogger(__name__)

QUEUE_LINES = 512
BATCH_BYTES = 512 * 1024
OPEN_SECONDS = 1.0


class Source(Protocol):
    """What has output: a run, or a part of it."""

    @property
    def key(self) -> RunKey:
        """Whose output it is."""

    def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the output; raises `RunError` where it cannot be had."""


class Sink(Protocol):
    """Where output goes."""

    async def append(self, key: RunKey, lines: Sequence[output.OutputLine]) -> None:
        """Store lines of a run; those that are there already are left as they are."""


async def ship(sink: Sink, run: Source) -> None:
    """Send all output of a run, from its first line on, and return when the server has it.

    Output is worth much, but no more than the run: where it cannot be read, or the server does not want it, that is
    logged and the rest is let go.
    """
    queue = _Queue()
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(_read(run, queue), name="read output")
        try:
            await _send(sink, run.key, queue)
        except errors.Error as error:
            reading.cancel()
            logger.warning("output is not wanted", extra=run_spec.fields(run.key) | {"cause": str(error)})


class _Queue:
    """Lines between one who reads and one who sends. An open line is the last one, and gives way to the next."""

    def __init__(self) -> None:
        self._lines: list[output.OutputLine] = []
        self._bytes = 0
        self._is_over = False
        self._changed = asyncio.Condition()

    async def put(self, line: output.OutputLine) -> None:
        """Add a line, once there is room."""
        async with self._changed:
            if self._lines and self._lines[-1].is_open:
                self._bytes -= len(self._lines.pop().text)
            await self._changed.wait_for(lambda: len(self._lines) < QUEUE_LINES and self._bytes < BATCH_BYTES)
            self._lines.append(line)
            self._bytes += len(line.text)
            self._changed.notify_all()

    async def end(self) -> None:
        """Say that no more lines come."""
        async with self._changed:
            self._is_over = True
            self._changed.notify_all()

    async def take(self) -> tuple[list[output.OutputLine], bool]:
        """Wait for a line and take all that are there; True when these were the last."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._lines or self._is_over)
            lines, self._lines, self._bytes = self._lines, [], 0
            self._changed.notify_all()
            return lines, self._is_over

    async def settled(self) -> None:
        """Wait for more than an open line."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._is_over or any(not line.is_open for line in self._lines))


async def _read(run: Source, queue: _Queue) -> None:
    """Put every line into the queue."""
    try:
        async with contextlib.aclosing(run.lines()) as lines:
            async for line in lines:
                await queue.put(line)
    except port.RunError as error:
        logger.warning("output cannot be read", extra=run_spec.fields(run.key) | {"cause": str(error)})
    await queue.end()


async def _send(sink: Sink, key: RunKey, queue: _Queue) -> None:
    """Send what is in the queue until it ends."""
    is_over = False
    while not is_over:
        batch, is_over = await queue.take()
        if batch:
            send = functools.partial(sink.append, key, batch)
            await retry.until_answered(send, what="append logs", gives_up=(errors.Internal,))
        if batch and batch[-1].is_open:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OPEN_SECONDS):
                    await queue.settled()
