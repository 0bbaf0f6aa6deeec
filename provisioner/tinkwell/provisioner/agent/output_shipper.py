"""The way of a run's output to the server.

One task reads lines, another sends what has gathered while the last batch was under way; so a line is sent at once when
little comes, and in batches when much does. Between them is a bounded queue. Full means wait: reading stops until the
server has taken some, and the runtime keeps what was not read yet.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from tinkwell.client import errors
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import run_spec
from tinkwell.provisioner.queue import retry
from tinkwell.provisioner.runtime import output, port

logger = logging.getLogger(__name__)

QUEUE_LINES = 512
BATCH_BYTES = 512 * 1024


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
    queue: asyncio.Queue[output.OutputLine | None] = asyncio.Queue(QUEUE_LINES)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(_read(run, queue), name="read output")
        try:
            await _send(sink, run.key, queue)
        except errors.Error as error:
            reading.cancel()
            logger.warning("output is not wanted", extra=run_spec.fields(run.key) | {"cause": str(error)})


async def _read(run: Source, queue: "asyncio.Queue[output.OutputLine | None]") -> None:
    """Put every line into the queue, and None at the end."""
    try:
        async with contextlib.aclosing(run.lines()) as lines:
            async for line in lines:
                await queue.put(line)
    except port.RunError as error:
        logger.warning("output cannot be read", extra=run_spec.fields(run.key) | {"cause": str(error)})
    await queue.put(None)


async def _send(sink: Sink, key: RunKey, queue: "asyncio.Queue[output.OutputLine | None]") -> None:
    """Send what is in the queue until None comes."""
    is_over = False
    while not is_over:
        batch, is_over = await _take_batch(queue)
        if batch:
            send = functools.partial(sink.append, key, batch)
            await retry.until_answered(send, what="append logs", gives_up=(errors.Internal,))


async def _take_batch(queue: "asyncio.Queue[output.OutputLine | None]") -> tuple[list[output.OutputLine], bool]:
    """Wait for a line and take what is there with it; True when that was the last."""
    batch: list[output.OutputLine] = []
    size = 0
    line = await queue.get()
    while line is not None:
        batch.append(line)
        size += len(line.text)
        if queue.empty() or size >= BATCH_BYTES:
            return batch, False
        line = queue.get_nowait()
    return batch, True
