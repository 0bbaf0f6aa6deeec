"""The output of actions: appended as it comes, and watched in the order of action, attempt and number.

Lines of a workflow are expected in that order, as a worker produces them. A line that is added before the place of a
watcher is not sent to it, and an open one is sent again as long as it is the last one that was.
"""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Callable, Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

from tinkwell.core import errors
from tinkwell.core.value import check, parse
from tinkwell.core.workflow.record import LogLine, NewLine
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.workflow.service import follower
from tinkwell.server.workflow.service.report import MAX_ATTEMPT
from tinkwell.server.workflow.store import output, queries

MAX_LINES = 1_000
MAX_LINE_BYTES = 16 * 1024
# The bound on the output of one attempt and its hook: whoever runs them numbers their lines.
MAX_NUMBER = 200_001


class _Line(Protocol):
    @property
    def is_open(self) -> bool: ...


N = TypeVar("N", bound=_Line)


class LogService:
    """AppendLogs and WatchLogs."""

    def __init__(self, database: Database, *, poll_seconds: float = follower.POLL_SECONDS) -> None:
        self._database = database
        self._followers = follower.Followers(poll_seconds=poll_seconds)

    def close(self) -> None:
        """End every watcher that waits for more; it may go on at another server."""
        self._followers.close()

    @property
    def watcher_count(self) -> int:
        """The number of watchers at this moment."""
        return self._followers.count

    async def append(self, workflow_id: str, lines: Sequence[NewLine], *, actor: str) -> None:
        """Add lines to the output of a workflow's actions; one that is there is left as it is, unless it is open.

        Raises `errors.InvalidField`, and `errors.NotFound` for the workflow or for an action that is not one of its.
        """
        workflow_id = parse.parse_uuid("workflow_id", workflow_id)
        parsed = latest(_parse(lines), lambda line: (line.action_id, line.attempt, line.number))

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
        self._followers.wake(workflow_id)

    async def watch(self, workflow_id: str, *, follow: bool) -> AsyncGenerator[Sequence[LogLine], None]:
        """Yield the output of a workflow in batches; with `follow`, go on until it is finished and all is sent.

        Raises `errors.InvalidField`, `errors.NotFound`, and what `Followers.watch` does.
        """
        workflow_id = parse.parse_uuid("workflow_id", workflow_id)
        if not await self._database.read(lambda connection: queries.exists(connection, workflow_id)):
            raise errors.NotFound("WORKFLOW", workflow_id)

        async def read(last: LogLine | None) -> output.Page:
            return await self._database.read(
                lambda connection: output.page(connection, workflow_id, after=last, limit=follower.PAGE)
            )

        batches = self._followers.watch(workflow_id, read, _size, follow=follow)
        async with contextlib.aclosing(batches):
            async for batch in batches:
                yield batch


def check_lines(count: int) -> None:
    """Refuse more lines than may come at once."""
    if count > MAX_LINES:
        raise errors.InvalidField.of("lines", f"has {count:,} lines; send at most {MAX_LINES:,} at once")


def check_line(checks: check.Checks, field: str, *, attempt: int, number: int, text: str) -> None:
    """Check what every line has, whatever writes it."""
    checks.take(parse.parse_int_range, f"{field}.attempt", attempt, low=1, high=MAX_ATTEMPT)
    checks.take(parse.parse_int_range, f"{field}.number", number, low=1, high=MAX_NUMBER)
    checks.take(_parse_text, f"{field}.text", text)


def latest(lines: Iterable[N], key: Callable[[N], Hashable]) -> list[N]:
    """Return each line once, as it is after all were added in turn: the first, or what an open one has become."""
    kept: dict[Hashable, N] = {}
    for line in lines:
        known = kept.get(key(line))
        if known is None or known.is_open:
            kept[key(line)] = line
    return list(kept.values())


def _size(line: LogLine) -> int:
    return len(line.text.encode()) + len(line.task_name.encode()) + len(line.action_name.encode())


def _parse(lines: Sequence[NewLine]) -> Sequence[NewLine]:
    check_lines(len(lines))
    checks = check.Checks()
    parsed = [_parse_line(checks, parse.child("lines", index), line) for index, line in enumerate(lines)]
    checks.finish()
    return parsed


def _parse_line(checks: check.Checks, field: str, line: NewLine) -> NewLine:
    action_id = checks.take(parse.parse_uuid, f"{field}.action_id", line.action_id)
    check_line(checks, field, attempt=line.attempt, number=line.number, text=line.text)
    return dataclasses.replace(line, action_id=action_id)


def _parse_text(field: str, text: str) -> str:
    """Check a line: programs write all kinds of characters, and only one of them cannot be stored."""
    if (size := len(text.encode())) > MAX_LINE_BYTES:
        raise errors.InvalidField.of(field, f"has {size:,} bytes; at most {MAX_LINE_BYTES:,} are allowed")
    if "\0" in text:
        raise errors.InvalidField.of(field, "holds the NUL character, which cannot be stored")
    return text
