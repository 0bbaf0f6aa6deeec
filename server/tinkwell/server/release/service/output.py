"""The output of steps: appended as it is produced, and watched in the order in which it arrived.

The nodes of an operation run concurrently, so their output is mixed. Each line names its node.
"""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence

from tinkwell.core import errors
from tinkwell.core.release import plan
from tinkwell.core.release.record import NewStepLine, StepLine
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.service import ending
from tinkwell.server.release.store import output
from tinkwell.server.workflow.service import follower
from tinkwell.server.workflow.service import output as lines_of


class StepLogs:
    """Implements AppendLogs and WatchLogs."""

    def __init__(
        self, database: Database, expiry: ending.Expiry, *, poll_seconds: float = follower.POLL_SECONDS
    ) -> None:
        self._database = database
        self._expiry = expiry
        self._followers = follower.Followers(poll_seconds=poll_seconds)

    def close(self) -> None:
        """End all watchers that wait for more lines. Their clients may go on at another server."""
        self._followers.close()

    @property
    def watcher_count(self) -> int:
        """The number of watchers now."""
        return self._followers.count

    @staticmethod
    def check_count(count: int) -> None:
        """Refuse more lines than one call may send, before any is checked. Raises `errors.InvalidField`."""
        lines_of.check_lines(count)

    async def append(self, operation_id: str, lines: Sequence[NewStepLine], *, actor: str) -> None:
        """Add lines to the output of an operation's steps. A line that exists stays unchanged, unless it is open.

        Raises `errors.InvalidField`, and `errors.NotFound` for the operation or for a step that does not belong to it.
        """
        operation_id = parse.parse_uuid("operation_id", operation_id)
        parsed = lines_of.latest(_parse(lines), lambda line: (line.step_id, line.attempt, line.number))

        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            if not await output.lock_operation(transaction, operation_id):
                raise ending.missing(operation_id)
            missing = await output.find_missing(transaction, operation_id, {line.step_id for line in parsed})
            if missing is not None:
                raise errors.NotFound("STEP", missing)
            await output.append(transaction, operation_id, parsed)

        await self._database.write(work, actor=actor)
        self._followers.wake(operation_id)

    async def watch(
        self, operation_id: str, *, path: str, follow: bool, actor: str
    ) -> AsyncGenerator[Sequence[StepLine], None]:
        """Yield the output of an operation in batches, or of one node if `path` is not empty.

        With `follow`, go on until the operation has ended and all of its output is sent. Raises `errors.InvalidField`,
        `errors.NotFound`, and the errors of `Followers.watch`.
        """
        operation_id = parse.parse_uuid("operation_id", operation_id)
        path = parse.parse_text("path", path, max_bytes=plan.MAX_PATH_BYTES, allow_empty=True)
        if not await output.exists(self._database.fetch, operation_id):
            raise ending.missing(operation_id)

        async def read(last: StepLine | None) -> output.Page:
            after = last.id if last is not None else 0
            page = await output.page(self._database.fetch, operation_id, path=path, after=after, limit=follower.PAGE)
            if page.is_due:
                await self._expiry.end(operation_id, actor=actor)
            return page

        batches = self._followers.watch(operation_id, read, _size, follow=follow)
        async with contextlib.aclosing(batches):
            async for batch in batches:
                yield batch


def _size(line: StepLine) -> int:
    return len(line.text.encode()) + len(line.path.encode()) + len(line.step_name.encode())


def _parse(lines: Sequence[NewStepLine]) -> Sequence[NewStepLine]:
    lines_of.check_lines(len(lines))
    checks = check.Checks()
    parsed = [_parse_line(checks, parse.child("lines", index), line) for index, line in enumerate(lines)]
    checks.finish()
    return parsed


def _parse_line(checks: check.Checks, field: str, line: NewStepLine) -> NewStepLine:
    step_id = checks.take(parse.parse_uuid, f"{field}.step_id", line.step_id)
    lines_of.check_line(checks, field, attempt=line.attempt, number=line.number, text=line.text)
    return dataclasses.replace(line, step_id=step_id)
