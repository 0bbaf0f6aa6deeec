"""Output lines, and the batches in which they are sent.

A server accepts messages up to 4 MiB and lines up to 16 KiB; a batch is much smaller. Each batch is a call of its own,
so that it can be sent again if a lost connection left it unanswered: the server stores a line once, by its number.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator
from enum import StrEnum
from typing import Protocol, TypeVar

BATCH_LINES = 1000
BATCH_BYTES = 1024 * 1024
# The most bytes that a character has, and the most that a line has beside its text.
_CHARACTER_BYTES, _LINE_BYTES = 4, 200


class LogStream(StrEnum):
    """The stream to which a program wrote an output line."""

    STDOUT = "STDOUT"
    STDERR = "STDERR"


class Line(Protocol):
    """An output line of any kind."""

    @property
    def text(self) -> str:
        """The line, without its end."""


L = TypeVar("L", bound=Line)


def pack(lines: Iterable[L]) -> Iterator[list[L]]:
    """Group lines into batches; all but the last are full."""
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
    """Send lines as they come. While one batch is sent, the next one fills; when it is full, reading waits."""
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
