"""Sends the lines of an attempt to the server while its script runs.

Lines that follow each other quickly are sent by one call, since each call is a transaction of the server, and a charm
of `ops` logs several lines in each event.
The number of waiting bytes is limited: a script that writes faster than the server takes lines blocks on its output.
Lines that are not sent within `LAST_SECONDS` after the script's end are dropped, so that they do not delay the event.
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
# How long the first waiting line waits for others.
GATHER_SECONDS = 0.5
_LEVELS = {"TRACE": "DEBUG", "CRITICAL": "ERROR"}

# Sends lines, and returns when the server has them; raises `errors.Error` if the server refuses them.
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
        """Take a line that the script has written; lines beyond the limit for an event are dropped."""
        if self._number == limit.LOG_LINES_PER_EVENT - 1:
            await self._add("WARNING", "this attempt has reached the limit of lines; the rest of its output is dropped")
        elif self._number < limit.LOG_LINES_PER_EVENT:
            await self._add(level, text)

    async def log(self, level: str, message: str) -> None:
        """Take a line that the script logs; raises `Refused` beyond the limit for an event."""
        if self._number >= limit.LOG_LINES_PER_EVENT - 1:
            raise Refused(f"one event may have {limit.LOG_LINES_PER_EVENT:,} lines of log")
        await self._add(_LEVELS.get(level, level), message)

    async def run(self) -> None:
        """Send lines, until `finish` is called and all are sent."""
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
                logger.warning(
                    "the server refused lines of a unit's output; they are dropped",
                    extra={"lines": len(lines), "cause": str(error)},
                )

    async def _gather(self) -> None:
        """Wait a moment for more lines, unless there are many already or no more will come."""
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
    """Return the text without NUL, cut to the server's limit."""
    content = text.replace("\0", "\ufffd").encode(errors="replace")
    return content[: limit.LOG_LINE_BYTES].decode(errors="ignore")
