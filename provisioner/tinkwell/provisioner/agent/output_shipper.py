"""Sends the output of a run to the server.

One task reads lines into a bounded queue, another sends all lines of the queue as a batch. So a single line is sent at
once, and many lines go in few batches. If the queue is full, reading waits until the server has taken lines; the
runtime keeps the output that was not read yet.

An open line, such as a progress bar that overwrites itself, is sent at most once a second, with its text at that time.
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
    """Anything with output, such as a run."""

    @property
    def key(self) -> RunKey:
        """The run that the output belongs to."""

    def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the lines of the output; raises `RunError` if it cannot be read."""


class Sink(Protocol):
    """Stores output."""

    async def append(self, key: RunKey, lines: Sequence[output.OutputLine]) -> None:
        """Store lines of a run; lines that are stored already stay as they are."""


async def ship(sink: Sink, run: Source) -> None:
    """Send all output of a run, from its first line on, and return when the server has it.

    If the output cannot be read, or the server refuses it, this is logged and the rest is dropped; the run goes on.
    """
    queue = _Queue()
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(_read(run, queue), name="read output")
        try:
            await _send(sink, run.key, queue)
        except errors.Error as error:
            reading.cancel()
            logger.warning(
                "the server refused output of a run; the rest of its output is dropped",
                extra=run_spec.fields(run.key) | {"cause": str(error)},
            )


class _Queue:
    """The lines that were read and not sent yet. Only the last line can be open, and the next line replaces it."""

    def __init__(self) -> None:
        self._lines: list[output.OutputLine] = []
        self._bytes = 0
        self._is_over = False
        self._changed = asyncio.Condition()

    async def put(self, line: output.OutputLine) -> None:
        """Add a line, waiting while the queue is full."""
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
        """Wait for a line and take all lines; True if no more will come."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._lines or self._is_over)
            lines, self._lines, self._bytes = self._lines, [], 0
            self._changed.notify_all()
            return lines, self._is_over

    async def settled(self) -> None:
        """Wait for a line that is not open, or for the end."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._is_over or any(not line.is_open for line in self._lines))


async def _read(run: Source, queue: _Queue) -> None:
    """Put every line into the queue."""
    try:
        async with contextlib.aclosing(run.lines()) as lines:
            async for line in lines:
                await queue.put(line)
    except port.RunError as error:
        logger.warning(
            "the output of a run cannot be read; the rest of it is dropped",
            extra=run_spec.fields(run.key) | {"cause": str(error)},
        )
    await queue.end()


async def _send(sink: Sink, key: RunKey, queue: _Queue) -> None:
    """Send the lines of the queue until it ends."""
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
