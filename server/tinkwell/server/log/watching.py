"""Where a watch begins, and what it then receives."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Awaitable, Iterator
from typing import TypeVar

from tinkwell.core import errors
from tinkwell.core.event.page import SourceLost
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.stream import Streams, Write
from tinkwell.server.log.fanout.subscriber import Subscriber
from tinkwell.server.log.source import Source

T = TypeVar("T")

DEFAULT_SINCE_SECONDS = 300.0
# How long a watch waits for a revision that was drawn but has not reached this server.
_AHEAD_SECONDS = 30.0
_AHEAD_POLL_SECONDS = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class Since:
    """Begin with the events of the last seconds, or with the oldest kept one if that is younger."""

    seconds: float = DEFAULT_SINCE_SECONDS


@dataclasses.dataclass(frozen=True, slots=True)
class FromRevision:
    """Begin with this revision of a history; an empty history is not compared."""

    revision: int
    history_id: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Now:
    """Begin with the next event that comes by, which may be one that was committed a moment ago."""


Start = Since | FromRevision | Now


class Watch:
    """A watch whose start position is fixed: from `position` on, nothing will be left out."""

    __slots__ = ("_streams", "_subscriber", "history_id", "position")

    def __init__(self, subscriber: Subscriber, streams: Streams) -> None:
        self.position = subscriber.position
        self.history_id = subscriber.history_id
        self._subscriber = subscriber
        self._streams = streams

    def deliver(self, write: Write, *, greeting: bytes) -> Awaitable[None]:
        """Write the greeting and encoded responses until the watch ends; raises the reason, see `Streams.deliver`."""
        return self._streams.deliver(self._subscriber, write, greeting=greeting)

    def close(self) -> None:
        """Free everything; may be called twice."""
        self._subscriber.close()


class WatchService:
    """Opens watches over one hub."""

    def __init__(self, hub: Hub, log: Source, streams: Streams) -> None:
        self._hub = hub
        self._log = log
        self._streams = streams

    async def open(self, selection: Selection, start: Start) -> Watch:
        """Fix the start position and watch from there; whoever opens a watch closes it.

        Raises `errors.Compacted` for a revision that is no longer kept, `errors.OtherHistory` for one that belongs to
        another log or lies beyond its end, `errors.LimitReached` and `errors.Unavailable`.
        """
        if not self._hub.is_open:
            # Says why, before anything is asked of a database that may be away.
            self._hub.subscribe(selection, position=0).close()
        position = await self._position(start)
        subscriber = self._hub.subscribe(selection, position=position)
        with _closed_unless_done(subscriber):
            if isinstance(start, FromRevision) and start.history_id not in ("", subscriber.history_id):
                # The database has just said that it is the right one: this server has yet to notice.
                raise errors.Unavailable("this server has not reached the revision's history yet; try again")
            await self._wait_until_reached(subscriber)
        return Watch(subscriber, self._streams)

    async def _position(self, start: Start) -> int:
        match start:
            case Now():
                return self._hub.released + 1
            case Since(seconds):
                # What was drawn but not yet released here comes later by itself.
                first = await _ask(self._log.first_revision_since(seconds))
                return min(first, self._hub.released + 1)
            case FromRevision(revision, history_id):
                await self._check(revision, history_id)
                return revision

    async def _check(self, revision: int, history_id: str) -> None:
        history = await _ask(self._log.history())
        if history_id not in ("", history.history_id):
            raise errors.OtherHistory(
                "the revision belongs to another history of the log", history_id=history.history_id
            )
        if revision < history.oldest_revision:
            raise errors.Compacted(revision, history.oldest_revision)
        if revision > self._hub.released + 1:
            last = await _ask(self._log.last_drawn())
            if revision > last + 1:
                raise errors.OtherHistory(
                    f"revision {revision} lies beyond the end of the log, which is {last}",
                    history_id=history.history_id,
                )

    async def _wait_until_reached(self, subscriber: Subscriber) -> None:
        deadline = time.monotonic() + _AHEAD_SECONDS
        while subscriber.position > self._hub.released + 1:
            if time.monotonic() > deadline:
                text = f"this server has not reached revision {subscriber.position} yet, but {self._hub.released}"
                raise errors.Unavailable(f"{text}; try again")
            await asyncio.sleep(_AHEAD_POLL_SECONDS)
            subscriber.check()


@contextlib.contextmanager
def _closed_unless_done(subscriber: Subscriber) -> Iterator[None]:
    try:
        yield
    except BaseException:
        subscriber.close()
        raise


async def _ask(question: Awaitable[T]) -> T:
    try:
        return await question
    except SourceLost as error:
        raise errors.Unavailable("the event log does not answer; try again") from error
