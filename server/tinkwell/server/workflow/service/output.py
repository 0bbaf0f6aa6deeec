"""The output of actions: appended as it is produced, and watched in the order of action, attempt and number.

A worker is expected to send its lines in that order. A line that sorts before a watcher's position is not sent to that
watcher. The last line may be open, which means that it may still change; a watcher receives it again after each change.
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
# The largest line number of one attempt and its hook. The worker numbers the lines.
MAX_NUMBER = 200_001


class _Line(Protocol):
    @property
    def is_open(self) -> bool: ...


N = TypeVar("N", bound=_Line)


class LogService:
    """Implements AppendLogs and WatchLogs."""

    def __init__(self, database: Database, *, poll_seconds: float = follower.POLL_SECONDS) -> None:
        self._database = database
        self._followers = follower.Followers(poll_seconds=poll_seconds)

    def close(self) -> None:
        """End all watchers that wait for more lines. Their clients may go on at another server."""
        self._followers.close()

    @property
    def watcher_count(self) -> int:
        """The number of watchers now."""
        return self._followers.count

    async def append(self, workflow_id: str, lines: Sequence[NewLine], *, actor: str) -> None:
        """Add lines to the output of a workflow's actions. A line that exists stays unchanged, unless it is open.

        Raises `errors.InvalidField`, and `errors.NotFound` for the workflow or for an action that does not belong to
        it.
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
        """Yield the output of a workflow in batches. With `follow`, go on until it is finished and all of it is sent.

        Raises `errors.InvalidField`, `errors.NotFound`, and the errors of `Followers.watch`.
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
    """Raise `errors.InvalidField` for more lines than one call may send."""
    if count > MAX_LINES:
        raise errors.InvalidField.of("lines", f"has {count:,} lines; send at most {MAX_LINES:,} at once")


def check_line(checks: check.Checks, field: str, *, attempt: int, number: int, text: str) -> None:
    """Check the fields that the lines of workflows and of operations have in common."""
    checks.take(parse.parse_int_range, f"{field}.attempt", attempt, low=1, high=MAX_ATTEMPT)
    checks.take(parse.parse_int_range, f"{field}.number", number, low=1, high=MAX_NUMBER)
    checks.take(_parse_text, f"{field}.text", text)


def latest(lines: Iterable[N], key: Callable[[N], Hashable]) -> list[N]:
    """Return each line once, in its final form: the first version, or the last version of an open line."""
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
    """Check the text of a line. Every character is allowed but NUL, which PostgreSQL cannot store."""
    if (size := len(text.encode())) > MAX_LINE_BYTES:
        raise errors.InvalidField.of(field, f"has {size:,} bytes; at most {MAX_LINE_BYTES:,} are allowed")
    if "\0" in text:
        raise errors.InvalidField.of(field, "holds the NUL character, which cannot be stored")
    return text
