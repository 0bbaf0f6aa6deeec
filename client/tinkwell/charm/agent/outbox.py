"""Sends what users see at once, even if the event fails: statuses, the workload's version and log lines.

Handlers do not wait for the server. Only the newest status and version are sent; lines are numbered, so that sending
them again changes nothing. An attempt has at most 10,000 lines; further lines are dropped.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import NoReturn

from tinkwell.charm.status import Status
from tinkwell.client import errors
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.retry import until_answered
from tinkwell.client.unit.agent.api import UnitApi
from tinkwell.client.unit.model import UnitLogLine, UnitStatus
from tinkwell.core.unit import limit

logger = logging.getLogger(__name__)

# The outbox of the attempt in whose context a handler logs.
current: ContextVar["Outbox | None"] = ContextVar("tinkwell_charm_outbox", default=None)

# How long a silent server may delay the end of an event. Statuses and lines that are not sent by then are lost; the
# event is not.
_FLUSH_SECONDS = 10.0
_BATCH_LINES = 500
# The server refuses longer messages.
MESSAGE_CHARACTERS = 1_000


class Outbox:
    """The outbox of one attempt at a unit's event, or at the task `task_id`."""

    def __init__(
        self, api: UnitApi, held: Keeper, unit_id: str, *, ordinal: int, attempt: int, task_id: str = ""
    ) -> None:
        self._api = api
        self._lease = held
        self._unit_id = unit_id
        self._ordinal = ordinal
        self._attempt = attempt
        # Lines of a task go to the log of the task, not of the unit.
        self._task_id = task_id
        self._statuses: dict[str, UnitStatus | str] = {}
        self._lines: deque[UnitLogLine] = deque()
        self._count = 0
        self._has_more = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def tell(self, what: str, status: Status | str) -> None:
        """Set the `status`, the `application_status` or the `workload_version` to send, in place of a former one."""
        if isinstance(status, str):
            self._statuses[what] = plain(status)
        else:
            self._statuses[what] = UnitStatus(status.name, plain(status.message)[:MESSAGE_CHARACTERS])
        self._has_more.set()

    def log(self, level: str, text: str) -> None:
        """Add a line, from any thread."""
        self._loop.call_soon_threadsafe(self._add, level, text)

    def _add(self, level: str, text: str) -> None:
        for each in text.splitlines() or [""]:
            self._count += 1
            if self._count > limit.LOG_LINES_PER_EVENT:
                return
            if self._count == limit.LOG_LINES_PER_EVENT:
                each, level = "there are too many lines; the rest of this attempt is left out", "WARNING"
            kept = plain(each).encode()[: limit.LOG_LINE_BYTES].decode(errors="ignore")
            self._lines.append(UnitLogLine(self._ordinal, self._attempt, self._count, kept, level))
        self._has_more.set()

    async def run(self) -> NoReturn:
        """Send statuses and lines as they come, until cancelled."""
        while True:
            await self._has_more.wait()
            self._has_more.clear()
            await self._send()

    async def flush(self) -> None:
        """Send the rest, if the server accepts it in time."""
        # The last lines are still waiting in the event loop.
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._send()
        except TimeoutError:
            logger.warning("statuses and log lines are not told: the server is silent", extra={"unit": self._unit_id})

    async def _send(self) -> None:
        while self._statuses or self._lines:
            await self._tell(self._send_statuses, self._statuses)
            await self._tell(self._send_lines, self._lines)

    async def _tell(
        self, send: Callable[[], Awaitable[None]], kept: dict[str, UnitStatus | str] | deque[UnitLogLine]
    ) -> None:
        """Send the waiting statuses and lines; those that the server refuses are dropped."""
        try:
            await until_answered(send, what="tell statuses and log lines")
        except errors.Error as error:
            if not [name for name in _refused(error) if self._statuses.pop(name, None) is not None]:
                kept.clear()
            logger.warning("statuses or log lines are not told", extra={"unit": self._unit_id, "cause": str(error)})

    async def _send_statuses(self) -> None:
        if statuses := dict(self._statuses):
            await self._lease.under(lambda token: self._set(token, statuses))
            for what, status in statuses.items():
                if self._statuses.get(what) is status:
                    del self._statuses[what]

    async def _send_lines(self) -> None:
        if lines := [self._lines[at] for at in range(min(len(self._lines), _BATCH_LINES))]:
            await self._lease.under(lambda token: self._append(token, lines))
            for _ in lines:
                self._lines.popleft()

    async def _append(self, token: int, lines: list[UnitLogLine]) -> None:
        if self._task_id:
            texts = [each.text if each.level == "INFO" else f"{each.level}: {each.text}" for each in lines]
            await self._api.append_task_log(token, self._task_id, lines[0].number, texts)
        else:
            await self._api.append_logs(token, self._unit_id, lines)

    async def _set(self, token: int, statuses: dict[str, UnitStatus | str]) -> None:
        version = statuses.get("workload_version")
        await self._api.set_status(
            token,
            self._unit_id,
            status=_status(statuses.get("status")),
            application_status=_status(statuses.get("application_status")),
            workload_version=version if isinstance(version, str) else None,
        )


class LogHandler(logging.Handler):
    """Passes records that are logged within an attempt to its outbox; other records are ignored."""

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on a record."""
        if (outbox := current.get()) is not None:
            level = "ERROR" if record.levelno >= logging.ERROR else record.levelname
            outbox.log(level if level in ("DEBUG", "WARNING", "ERROR") else "INFO", self.format(record))


def plain(text: str) -> str:
    """Return a text that the server accepts, with a mark in place of each character that it refuses."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def _refused(error: errors.Error) -> frozenset[str]:
    """Return the statuses that the server has refused; none if the error is not about a status."""
    if isinstance(error, errors.NotLeader):
        # The unit may have lost the lead since it set the application's status; its own status is still sent.
        return frozenset({"application_status"})
    if isinstance(error, errors.InvalidField):
        return frozenset(each.field.partition(".")[0] for each in error.violations)
    return frozenset()


def _status(found: UnitStatus | str | None) -> UnitStatus | None:
    return found if isinstance(found, UnitStatus) else None
