"""The output of actions: appended as it comes, and watched.

A watcher reads page after page in the order of action, attempt and number. With nothing left it waits: an append
through this server wakes it, and as lines may also come in through another server it looks again twice a second. It
holds nothing but its place, so it may be as slow as it likes.

Lines of a workflow are expected in that order, as a worker produces them. A line that is added before the place of a
watcher is not sent to it.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Iterator, Sequence

from tinkwell.core import errors
from tinkwell.core.value import check, parse
from tinkwell.core.workflow.record import LogLine, NewLine
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.workflow.service.report import MAX_ATTEMPT
from tinkwell.server.workflow.store import output, queries

MAX_LINES = 1_000
MAX_LINE_BYTES = 16 * 1024
# The bound on the output of one attempt and its hook: whoever runs them numbers their lines.
MAX_NUMBER = 110_000
MAX_BATCH_BYTES = 256 * 1024
MAX_WATCHERS = 200

# Lines may have 16 KiB each, so that a page takes 4 MiB at most.
_PAGE = 256
_POLL_SECONDS = 0.5
# What a line takes on the wire besides its texts.
_FIELDS_BYTES = 100


class LogService:
    """AppendLogs and WatchLogs."""

    def __init__(self, database: Database, *, poll_seconds: float = _POLL_SECONDS) -> None:
        self._database = database
        self._poll_seconds = poll_seconds
        # Who watches which workflow's output. An entry goes with its last watcher.
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._is_closed = False

    def close(self) -> None:
        """End every watcher that waits for more; it may go on at another server."""
        self._is_closed = True
        for watchers in self._watchers.values():
            for woken in watchers:
                woken.set()

    @property
    def watcher_count(self) -> int:
        """The number of watchers at this moment."""
        return sum(len(watchers) for watchers in self._watchers.values())

    async def append(self, workflow_id: str, lines: Sequence[NewLine], *, actor: str) -> None:
        """Add lines to the output of a workflow's actions; one that is already there is left as it is.

        Raises `errors.InvalidField`, and `errors.NotFound` for the workflow or for an action that is not one of its.
        """
        workflow_id = parse.parse_uuid("workflow_id", workflow_id)
        parsed = _parse(lines)

        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            connection = transaction.connection
            if not await queries.exists(connection, workflow_id):
                raise errors.NotFound("WORKFLOW", workflow_id)
            missing = await output.find_missing(connection, workflow_id, {line.action_id for line in parsed})
            if missing is not None:
                raise errors.NotFound("ACTION", missing)
            await output.append(connection, parsed)

        await self._database.write(work, actor=actor)
        for woken in self._watchers.get(workflow_id, ()):
            woken.set()

    async def watch(self, workflow_id: str, *, follow: bool) -> AsyncGenerator[Sequence[LogLine], None]:
        """Yield the output of a workflow in batches; with `follow`, go on until it is finished and all is sent.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.LimitReached` for too many watchers, and
        `errors.Unavailable` once closed.
        """
        workflow_id = parse.parse_uuid("workflow_id", workflow_id)
        if not await self._database.read(lambda connection: queries.exists(connection, workflow_id)):
            raise errors.NotFound("WORKFLOW", workflow_id)
        with self._watching(workflow_id) as woken:
            last: LogLine | None = None
            while True:
                # Before the page is read: what comes in later than the page wakes this watcher again.
                woken.clear()
                page = await self._page(workflow_id, last)
                for batch in _batches(page.lines):
                    last = batch[-1]
                    yield batch
                if len(page.lines) == _PAGE:
                    continue
                if page.is_over or not follow:
                    return
                await _wait(woken, self._poll_seconds)
                if self._is_closed:
                    raise errors.Unavailable("the server is stopping; try again")

    @contextlib.contextmanager
    def _watching(self, workflow_id: str) -> Iterator[asyncio.Event]:
        if self.watcher_count >= MAX_WATCHERS:
            raise errors.LimitReached(f"{MAX_WATCHERS} others are reading output through this server; try again")
        woken = asyncio.Event()
        self._watchers.setdefault(workflow_id, set()).add(woken)
        try:
            yield woken
        finally:
            self._watchers[workflow_id].discard(woken)
            if not self._watchers[workflow_id]:
                del self._watchers[workflow_id]

    async def _page(self, workflow_id: str, last: LogLine | None) -> output.Page:
        return await self._database.read(
            lambda connection: output.page(connection, workflow_id, after=last, limit=_PAGE)
        )


async def _wait(woken: asyncio.Event, timeout_seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_seconds):
            await woken.wait()


def _batches(lines: Sequence[LogLine]) -> Iterator[Sequence[LogLine]]:
    batch: list[LogLine] = []
    room = MAX_BATCH_BYTES
    for line in lines:
        size = len(line.text.encode()) + len(line.task_name.encode()) + len(line.action_name.encode()) + _FIELDS_BYTES
        if batch and size > room:
            yield batch
            batch, room = [], MAX_BATCH_BYTES
        batch.append(line)
        room -= size
    if batch:
        yield batch


def _parse(lines: Sequence[NewLine]) -> Sequence[NewLine]:
    if len(lines) > MAX_LINES:
        raise errors.InvalidField.of("lines", f"has {len(lines):,} lines; send at most {MAX_LINES:,} at once")
    checks = check.Checks()
    parsed = [_parse_line(checks, parse.child("lines", index), line) for index, line in enumerate(lines)]
    checks.finish()
    return parsed


def _parse_line(checks: check.Checks, field: str, line: NewLine) -> NewLine:
    action_id = checks.take(parse.parse_uuid, f"{field}.action_id", line.action_id)
    checks.take(parse.parse_int_range, f"{field}.attempt", line.attempt, low=1, high=MAX_ATTEMPT)
    checks.take(parse.parse_int_range, f"{field}.number", line.number, low=1, high=MAX_NUMBER)
    checks.take(_parse_text, f"{field}.text", line.text)
    return dataclasses.replace(line, action_id=action_id)


def _parse_text(field: str, text: str) -> str:
    """Check a line: programs write all kinds of characters, and only one of them cannot be stored."""
    if (size := len(text.encode())) > MAX_LINE_BYTES:
        raise errors.InvalidField.of(field, f"has {size:,} bytes; at most {MAX_LINE_BYTES:,} are allowed")
    if "\0" in text:
        raise errors.InvalidField.of(field, "holds the NUL character, which cannot be stored")
    return text
