"""The event log of the fake server: a list in memory, read by any number of streams."""

import asyncio
import contextlib
import dataclasses
import uuid
from collections.abc import AsyncIterator, Collection
from datetime import timedelta

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.client.testing import encode
from tinkwell.client.testing.clock import Clock
from tinkwell.client.watch import message, selection
from tinkwell.client.watch.event import Event
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType


class EventLog:
    """Events by revision, with the id of the history and the oldest kept revision, like the real log."""

    def __init__(self, *, batch_size: int = 50, bookmark_seconds: float = 1.0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.history_id = str(uuid.uuid4())
        self.oldest_revision = 1
        self.tail = 0
        self.events: list[Event] = []
        self._batch_size = batch_size
        self._bookmark_seconds = bookmark_seconds
        self._connection = 0  # streams that began with a lower number are ended
        self._is_paused = False
        self.changed = asyncio.Event()

    def append(self, event: Event) -> Event:
        """Give an event the next revision, and send it to all streams."""
        self.tail += 1
        recorded = dataclasses.replace(event, revision=self.tail, created_at=event.created_at or self.clock.now())
        self.events.append(recorded)
        self.wake()
        return recorded

    def skip(self, revisions: int = 1) -> None:
        """Use up revisions without an event, as a rolled-back transaction does."""
        self.tail += revisions
        self.wake()

    def compact(self, oldest_revision: int) -> None:
        """Delete the events below a revision. Streams that still need them end."""
        self.oldest_revision = max(self.oldest_revision, oldest_revision)
        self.events = [event for event in self.events if event.revision >= self.oldest_revision]
        self.wake()

    def change_history(self, *, tail: int = 0) -> None:
        """Begin another history with the last revision `tail`, as a restored database does. All streams end."""
        self.history_id = str(uuid.uuid4())
        self.events, self.tail, self.oldest_revision = [], tail, tail + 1
        self.drop_connections()

    def drop_connections(self) -> None:
        """End all streams with UNAVAILABLE."""
        self._connection += 1
        self.wake()

    def pause(self) -> None:
        """Pause all streams, like a connection that delivers nothing, until `resume`."""
        self._is_paused = True

    def resume(self) -> None:
        """Let the streams go on."""
        self._is_paused = False
        self.wake()

    async def follow(
        self, request: pb.WatchRequest, fixed_types: Collection[ResourceType] = ()
    ) -> AsyncIterator[pb.WatchResponse]:
        """Answer a watch request. Raises the error that ends the stream."""
        types = {message.RESOURCE_TYPES[kind] for kind in fixed_types or ResourceType}
        connection, position = self._connection, self._start(request)
        yield self._response([], position, created=True)
        while True:
            # A slow reader may need events that were deleted meanwhile.
            self._check(connection, position)
            changed = self.changed
            for response in () if self._is_paused else self._batches(request, types, position):
                yield response
                position = response.revision
                self._check(connection, position)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._bookmark_seconds):
                    await changed.wait()
            self._check(connection, position)
            if changed is self.changed and not self._is_paused:
                yield self._response([], position)

    def _batches(self, request: pb.WatchRequest, types: Collection[int], position: int) -> list[pb.WatchResponse]:
        fresh = [encode.fill(pb.Event(), event) for event in self.events if event.revision > position]
        wanted = [event for event in fresh if _matches(event, request, types)]
        batches = []
        for start in range(0, len(wanted), self._batch_size):
            batch = wanted[start : start + self._batch_size]
            is_last = start + self._batch_size >= len(wanted)
            batches.append(self._response(batch, self.tail if is_last else batch[-1].revision))
        if not wanted and self.tail > position:
            batches.append(self._response([], self.tail))
        return batches

    def _start(self, request: pb.WatchRequest) -> int:
        match request.WhichOneof("start"):
            case "from_revision":
                return self._checked_start(request.from_revision, request.history_id)
            case "now":
                return self.tail
            case "since":
                since = request.since.ToTimedelta()
            case _:
                since = timedelta(seconds=selection.DEFAULT_SINCE_SECONDS)
        begin = self.clock.now() - since
        recent = (event.revision for event in self.events if event.created_at and event.created_at >= begin)
        return next(recent, self.tail + 1) - 1

    def _checked_start(self, from_revision: int, history_id: str) -> int:
        if history_id not in ("", self.history_id):
            raise errors.OtherHistory(f"history {history_id} is not kept", history_id=self.history_id)
        if from_revision > self.tail + 1:
            raise errors.OtherHistory(f"revision {from_revision} is beyond the end", history_id=self.history_id)
        if from_revision < self.oldest_revision:
            raise errors.Compacted(from_revision, self.oldest_revision)
        return from_revision - 1

    def _check(self, connection: int, position: int) -> None:
        if connection != self._connection:
            raise errors.Unavailable("the connection was dropped")
        if position + 1 < self.oldest_revision:
            raise errors.Compacted(position + 1, self.oldest_revision)

    def _response(self, events: list[pb.Event], revision: int, *, created: bool = False) -> pb.WatchResponse:
        return pb.WatchResponse(events=events, revision=revision, history_id=self.history_id, created=created)

    def wake(self) -> None:
        """Wake all streams that wait for `changed`."""
        self.changed.set()
        self.changed = asyncio.Event()


def _matches(event: pb.Event, request: pb.WatchRequest, types: Collection[int]) -> bool:
    return (
        event.resource_type in types
        and (not request.event_types or event.event_type in request.event_types)
        and (not request.names or event.name in request.names)
        and (not request.resource_types or event.resource_type in request.resource_types)
        and (not request.resource_id or request.resource_id in (event.resource_id, event.parent_id))
    )
