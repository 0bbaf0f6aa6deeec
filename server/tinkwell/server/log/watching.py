"""Opens watches: finds out where a watch begins, and adds a watcher there."""

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
# How long opening a watch waits for a revision that was drawn but has not been released on this server.
_AHEAD_SECONDS = 30.0
_AHEAD_POLL_SECONDS = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class Since:
    """Begin with the events of the last `seconds`, or with the oldest kept event if that is younger."""

    seconds: float = DEFAULT_SINCE_SECONDS


@dataclasses.dataclass(frozen=True, slots=True)
class FromRevision:
    """Begin with this revision of a history. An empty `history_id` stands for the log's present history."""

    revision: int
    history_id: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Now:
    """Begin with the next event that is released here. It may have been committed a moment before."""


Start = Since | FromRevision | Now


class Watch:
    """A watch whose start is fixed: it receives every selected event from revision `position` on."""

    __slots__ = ("_streams", "_subscriber", "history_id", "position")

    def __init__(self, subscriber: Subscriber, streams: Streams) -> None:
        self.position = subscriber.position
        self.history_id = subscriber.history_id
        self._subscriber = subscriber
        self._streams = streams

    def deliver(self, write: Write, *, greeting: bytes) -> Awaitable[None]:
        """Write the greeting and then encoded responses until the watch ends. Raises what `Streams.deliver` raises."""
        return self._streams.deliver(self._subscriber, write, greeting=greeting)

    def close(self) -> None:
        """Remove the watcher; may be called twice."""
        self._subscriber.close()


class WatchService:
    """Opens watches over one hub."""

    def __init__(self, hub: Hub, log: Source, streams: Streams) -> None:
        self._hub = hub
        self._log = log
        self._streams = streams

    async def open(self, selection: Selection, start: Start) -> Watch:
        """Fix the start position, and return a watch from there. The caller must close the watch.

        Raises `errors.Compacted` for a revision that is no longer kept, `errors.OtherHistory` for one that belongs to
        another history or lies beyond the end of the log, `errors.LimitReached` and `errors.Unavailable`.
        """
        if not self._hub.is_open:
            # Raises the reason at once, since the database may be out of reach.
            self._hub.subscribe(selection, position=0).close()
        position = await self._position(start)
        subscriber = self._hub.subscribe(selection, position=position)
        with _closed_unless_done(subscriber):
            if isinstance(start, FromRevision) and start.history_id not in ("", subscriber.history_id):
                # `_check` has found this history in the database, but the reader has not noticed it yet.
                raise errors.Unavailable("this server has not reached the revision's history yet; try again")
            await self._wait_until_reached(subscriber)
        return Watch(subscriber, self._streams)

    async def _position(self, start: Start) -> int:
        match start:
            case Now():
                return self._hub.released + 1
            case Since(seconds):
                # Events that were drawn but not yet released here come later as live events.
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
                text = f"this server has reached revision {self._hub.released}, and not yet {subscriber.position}"
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
