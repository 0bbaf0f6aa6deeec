"""Sends the lines of an attempt to the server while its script runs.

Lines that follow each other quickly go together, since each call is a transaction of the server: a charm of `ops` logs
several lines in each event.
Lines that wait are bounded: a script that says more than the server takes is held back by its own output. What is not
sent a while after the script's end is left out, for the event is worth more than its lines.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from tinkwell.client import errors
from tinkwell.client.unit.model import UnitLogLine
from tinkwell.core.unit import limit
from tinkwell.provisioner.unit.attempt.world import Refused

logger = logging.getLogger(__name__)

MAX_WAITING_BYTES = 1024 * 1024
LAST_SECONDS = 10.0
# For so long the first line that waits may wait for others.
GATHER_SECONDS = 0.5
_LEVELS = {"TRACE": "DEBUG", "CRITICAL": "ERROR"}

# Takes lines, and returns when the server has them; raises `errors.Error` where it does not want them.
Send = Callable[[Sequence[UnitLogLine]], Awaitable[object]]


class Journal:
    """The lines of one attempt at the event with this ordinal."""

    def __init__(self, send: Send, *, ordinal: int, attempt: int, gather_seconds: float = GATHER_SECONDS) -> None:
        self._send = send
        self._gather_seconds = gather_seconds
        self._ordinal = ordinal
        self._attempt = attempt
        self._waiting: list[UnitLogLine] = []
        self._waiting_bytes = 0
        self._number = 0
        self._changed = asyncio.Condition()
        self._is_over = False

    async def hear(self, level: str, text: str) -> None:
        """Take a line that the script has written; beyond the most of an event they are dropped."""
        if self._number == limit.LOG_LINES_PER_EVENT - 1:
            await self._add("WARNING", "no more lines of this attempt are kept")
        elif self._number < limit.LOG_LINES_PER_EVENT:
            await self._add(level, text)

    async def log(self, level: str, message: str) -> None:
        """Take a line that the script logs; raises `Refused` beyond the most of an event."""
        if self._number >= limit.LOG_LINES_PER_EVENT - 1:
            raise Refused(f"one event may have {limit.LOG_LINES_PER_EVENT:,} lines of log")
        await self._add(_LEVELS.get(level, level), message)

    async def run(self) -> None:
        """Send what comes, until `finish`."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._waiting or self._is_over)
                await self._gather()
                lines, self._waiting, self._waiting_bytes = self._waiting, [], 0
                self._changed.notify_all()
            if not lines:
                return
            try:
                await self._send(lines)
            except errors.Error as error:
                logger.warning("lines of a unit are left out", extra={"lines": len(lines), "cause": str(error)})

    async def _gather(self) -> None:
        """Wait for lines that follow those that wait, unless there are many, or no more come."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._gather_seconds):
                await self._changed.wait_for(lambda: self._is_over or self._waiting_bytes > MAX_WAITING_BYTES // 2)

    async def finish(self) -> None:
        """Let `run` end once all is sent."""
        async with self._changed:
            self._is_over = True
            self._changed.notify_all()

    async def _add(self, level: str, text: str) -> None:
        self._number += 1
        line = UnitLogLine(
            ordinal=self._ordinal, attempt=self._attempt, number=self._number, text=_short(text), level=level
        )
        size = len(line.text.encode())
        async with self._changed:
            await self._changed.wait_for(lambda: self._waiting_bytes + size <= MAX_WAITING_BYTES)
            self._waiting.append(line)
            self._waiting_bytes += size
            self._changed.notify_all()


def _short(text: str) -> str:
    """Return a line that the server takes."""
    content = text.replace("\0", "\ufffd").encode(errors="replace")
    return content[: limit.LOG_LINE_BYTES].decode(errors="ignore")
