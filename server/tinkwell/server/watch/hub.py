"""The meeting point of the one reader and all watchers of a process.

Nothing here awaits, so each method is one step that nothing can interleave with: "read history, then join live" needs
no lock and leaves no gap.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from tinkwell.core import errors
from tinkwell.core.event import Event
from tinkwell.core.kind import EventType, ResourceType
from tinkwell.core.log import Selection
from tinkwell.server.watch.history import Entry, Excerpt, Ring
from tinkwell.server.watch.subscriber import Subscriber

# How much of the ring one step looks through before others get their turn.
_MAX_SCANNED = 5_000

_Key = tuple[str, ResourceType | None, EventType | None]


class Hub:
    """Fans released events out to live subscribers, and keeps the latest for those that are behind."""

    def __init__(
        self,
        *,
        encode: Callable[[Event], bytes],
        ring_bytes: int,
        subscriber_bytes: int,
        max_subscribers: int,
    ) -> None:
        self._encode = encode
        self._ring_bytes = ring_bytes
        self._subscriber_bytes = subscriber_bytes
        self._max_subscribers = max_subscribers
        self._ring = Ring(last=0, limit_bytes=ring_bytes)
        self._history_id = ""
        self._refusal: Exception | None = errors.Unavailable("the event log is not open yet; try again")
        # Set once the log has been opened for the first time.
        self.opened = asyncio.Event()
        self._subscribers: set[Subscriber] = set()
        # Live subscribers only, each under the keys by which an event finds it.
        self._live: defaultdict[_Key, set[Subscriber]] = defaultdict(set)

    @property
    def released(self) -> int:
        """The revision up to which the log has been released to this process."""
        return self._ring.last

    @property
    def history_id(self) -> str:
        """The history that revisions belong to."""
        return self._history_id

    @property
    def is_open(self) -> bool:
        """Whether watchers are accepted."""
        return self._refusal is None

    @property
    def subscriber_count(self) -> int:
        """How many watchers there are."""
        return len(self._subscribers)

    @property
    def behind_count(self) -> int:
        """How many of them are not live."""
        return sum(not subscriber.is_live for subscriber in self._subscribers)

    def open(self, *, history_id: str, last: int) -> None:
        """Accept watchers of this history, released up to the revision. Those of before must have been ended."""
        self._ring = Ring(last=last, limit_bytes=self._ring_bytes)
        self._history_id = history_id
        self._refusal = None
        self.opened.set()

    def close(self, reason: Exception) -> None:
        """End every watcher and accept no new one until opened again."""
        self._refusal = reason
        for subscriber in self._subscribers:
            self._leave(subscriber)
            subscriber.end(reason)

    def publish(self, events: Sequence[Event], *, released: int) -> None:
        """Give the events, all that lie between the last call's `released` and this one's, to whom they concern."""
        entries = [Entry(event, self._encode) for event in events]
        self._ring.extend(entries, last=released)
        for entry in entries:
            for subscriber in self._interested(entry.event):
                if not subscriber.offer(entry):
                    # The entry that found no room is where it reads on by itself.
                    subscriber.position = entry.event.revision
                    self._leave(subscriber)

    def subscribe(self, selection: Selection, *, position: int) -> Subscriber:
        """Add a watcher that wants the selected events from the revision on. It begins behind; see `catch_up`."""
        if self._refusal is not None:
            # Callers who try again and again raise the same object: its traceback must not grow with each.
            raise self._refusal.with_traceback(None)
        if len(self._subscribers) >= self._max_subscribers:
            raise errors.LimitReached(f"this server has its limit of {self._max_subscribers} watchers; try another one")
        subscriber = Subscriber(
            self, selection, history_id=self._history_id, position=position, limit_bytes=self._subscriber_bytes
        )
        self._subscribers.add(subscriber)
        return subscriber

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Forget a watcher; may be called twice."""
        self._leave(subscriber)
        self._subscribers.discard(subscriber)

    def catch_up(self, subscriber: Subscriber, *, max_count: int, max_bytes: int) -> Excerpt | None:
        """Move a watcher that is behind through the ring, and make it live when it arrives.

        Returns None when the ring no longer holds its position, so that it must be read from the table.
        """
        if subscriber.position < self._ring.first:
            return None
        excerpt = self._ring.read(
            subscriber.position,
            subscriber.selection,
            max_scanned=_MAX_SCANNED,
            max_count=max_count,
            max_bytes=max_bytes,
        )
        self.advance(subscriber, excerpt.revision)
        return excerpt

    def advance(self, subscriber: Subscriber, revision: int) -> None:
        """Note that a watcher that is behind has all up to the revision; it is live once that is all there is."""
        subscriber.position = max(subscriber.position, revision + 1)
        if subscriber.position > self.released and subscriber in self._subscribers:
            subscriber.is_live = True
            for key in _keys(subscriber.selection):
                self._live[key].add(subscriber)

    def _leave(self, subscriber: Subscriber) -> None:
        if subscriber.is_live:
            subscriber.is_live = False
            for key in _keys(subscriber.selection):
                self._live[key].discard(subscriber)
                if not self._live[key]:
                    del self._live[key]
            subscriber.wake()

    def _interested(self, event: Event) -> list[Subscriber]:
        # A copy: a subscriber that finds no room leaves the index while the list is walked.
        return [
            subscriber
            for key in _keys_of(event)
            if key in self._live
            for subscriber in self._live[key]
            if event.revision >= subscriber.position and subscriber.selection.matches(event)
        ]


def _keys(selection: Selection) -> Iterator[_Key]:
    """The keys that a selection is found by: its narrowest condition decides."""
    if selection.resource_id:
        yield (selection.resource_id, None, None)
    elif selection.names:
        for name in selection.names:
            yield (name, None, None)
    else:
        for resource_type in selection.resource_types or (None,):
            for event_type in selection.event_types or (None,):
                yield ("", resource_type, event_type)


def _keys_of(event: Event) -> set[_Key]:
    """Every key under which somebody who wants the event may be found."""
    keys: set[_Key] = {(event.name, None, None)}
    keys.update((resource_id, None, None) for resource_id in (event.resource_id, event.parent_id) if resource_id)
    keys.update(
        ("", resource_type, event_type)
        for resource_type in (event.resource_type, None)
        for event_type in (event.event_type, None)
    )
    return keys
