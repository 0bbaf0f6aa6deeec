"""A log source that only replays, from a list, and an encoding that tests can read."""

import contextlib
from collections.abc import Callable, Sequence

from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.page import History, Replay, Row, SourceLost, row_of
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.source import Session


def encode_event(event: Event) -> bytes:
    """Encode an event as its revision."""
    return b"%d " % event.revision


def encode_rows(rows: Sequence[Row]) -> bytes:
    """Encode rows as their revisions, and as many spaces as they have data."""
    return b"".join(b"%d %*s" % (row[0], row[-1], b"") for row in rows)


def respond(fields: Sequence[bytes], revision: int, history_id: str) -> bytes:
    """Put a response together, so that several in a row are one again."""
    return b"".join(fields) + b"|%d;" % revision


def parse(response: bytes) -> tuple[list[int], int]:
    """Return the revisions of a response's events, and its last bookmark."""
    revisions: list[int] = []
    bookmark = 0
    for part in response.decode().rstrip(";").split(";"):
        events, _, mark = part.partition("|")
        revisions += [int(revision) for revision in events.split()]
        bookmark = int(mark)
    return revisions, bookmark


class Table:
    """The log as streams need it; it can be told to forget, to be away, and to do something while it is read."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.oldest = 1
        self.failures = 0
        self.reads = 0
        self.asked_bytes: list[int] = []
        self.while_reading: Callable[[], None] = lambda: None

    async def replay(
        self, *, history_id: str, first: int, last: int, selection: Selection, max_count: int, max_bytes: int
    ) -> Replay:
        self.reads += 1
        self.asked_bytes.append(max_bytes)
        if self.failures:
            self.failures -= 1
            raise SourceLost("away")
        self.while_reading()
        if first < self.oldest:
            raise errors.Compacted(first, self.oldest)
        found = [event for event in self.events if first <= event.revision <= last and selection.matches(event)]
        rows = [row_of(event) for event in found[:max_count]]
        return Replay(rows, rows[-1][0] if len(rows) >= max_count else last)

    def session(self) -> contextlib.AbstractAsyncContextManager[Session]:
        raise AssertionError("only the reader opens sessions")

    async def first_revision_since(self, seconds: float) -> int:
        raise AssertionError("only the service asks")

    async def last_drawn(self) -> int:
        raise AssertionError("only the service asks")

    async def history(self) -> History:
        raise AssertionError("only the service asks")
