"""Output lines, and how they are cut into batches for sending.

A server takes messages up to 4 MiB and lines up to 16 KiB; a batch stays well below. Each is a call of its own, so that
one that a lost connection left unanswered may be sent again: the server knows the lines that it has.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator
from enum import StrEnum
from typing import Protocol, TypeVar

BATCH_LINES = 1000
BATCH_BYTES = 1024 * 1024
# A character has at most four bytes, and the rest of a line has fewer than so many.
_CHARACTER_BYTES, _LINE_BYTES = 4, 200


class LogStream(StrEnum):
    """Where an output line was written to."""

    STDOUT = "STDOUT"
    STDERR = "STDERR"


class Line(Protocol):
    """What is to be known of a line."""

    @property
    def text(self) -> str:
        """The line, without its end."""


L = TypeVar("L", bound=Line)


def pack(lines: Iterable[L]) -> Iterator[list[L]]:
    """Cut lines into full batches and a rest."""
    batch: list[L] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += _size(line)
        if _is_full(batch, size):
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def relay(lines: AsyncIterable[L], send: Callable[[list[L]], Awaitable[None]]) -> None:
    """Send lines as they come, those that gather while one batch is on its way as the next one; a full one waits."""
    queue: asyncio.Queue[L | None] = asyncio.Queue(BATCH_LINES)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_fill(queue, lines), name="output-lines")
            is_over = False
            while not is_over:
                batch, is_over = await _gather(queue)
                if batch:
                    await send(batch)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _fill(queue: asyncio.Queue[L | None], lines: AsyncIterable[L]) -> None:
    async for line in lines:
        await queue.put(line)
    await queue.put(None)


async def _gather(queue: asyncio.Queue[L | None]) -> tuple[list[L], bool]:
    batch: list[L] = []
    size = 0
    line = await queue.get()
    while line is not None:
        batch.append(line)
        size += _size(line)
        if queue.empty() or _is_full(batch, size):
            return batch, False
        line = queue.get_nowait()
    return batch, True


def _size(line: Line) -> int:
    return len(line.text) * _CHARACTER_BYTES + _LINE_BYTES


def _is_full(batch: list[L], size: int) -> bool:
    return size >= BATCH_BYTES or len(batch) >= BATCH_LINES
