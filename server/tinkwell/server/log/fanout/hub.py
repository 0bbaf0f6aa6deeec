"""The hub takes the events from the reader of a process, and gives them to all watchers of the process.

No method awaits, so no other task runs in the middle of one. Therefore a watcher can read the kept events and then join
the live ones without a lock, and no event falls between the two.
"""

import asyncio
import dataclasses
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.group import MAX_BYTES, MAX_COUNT, Batch, Group
from tinkwell.server.log.fanout.pacing import Spread
from tinkwell.server.log.fanout.ring import Entry, Excerpt, Ring
from tinkwell.server.log.fanout.subscriber import Subscriber

# The number of entries of the ring that one step looks through before the event loop serves other tasks.
_MAX_SCANNED = 5_000
# For at most this many groups it is faster to ask each group than to look up the interested ones.
_FEW_GROUPS = 4

_Key = tuple[str, ResourceType | None, EventType | None]


@dataclasses.dataclass(slots=True)
class Counts:
    """Counters of the hub and its streams, since they were made."""

    events: int = 0
    """Events that were sent to watchers."""
    responses: int = 0
    """Responses that were sent, including those that only have a bookmark."""
    fallen_behind: int = 0
    """How often a live watcher fell behind."""
    too_slow: int = 0
    """Watchers that were ended because they were too slow."""
    ring_reads: int = 0
    """How often a watcher that was behind read from the ring."""
    table_reads: int = 0
    """How often a piece of the table was read for watchers that were behind."""


class Hub:
    """Gives released events to live watchers, and keeps the latest events for watchers that are behind."""

    def __init__(
        self,
        *,
        encode: Callable[[Event], bytes],
        ring_bytes: int,
        subscriber_bytes: int,
        max_subscribers: int,
        spread: Spread | None = None,
        few_groups: int = _FEW_GROUPS,
    ) -> None:
        self._encode = encode
        self._ring_bytes = ring_bytes
        self._subscriber_bytes = subscriber_bytes
        self._max_subscribers = max_subscribers
        self._spread = spread
        self._few_groups = few_groups
        self._ring = Ring(last=0, limit_bytes=ring_bytes)
        self._history_id = ""
        self._refusal: Exception | None = errors.Unavailable("the event log is not open yet; try again")
        # Set when `open` is called for the first time.
        self.opened = asyncio.Event()
        # Set while there are watchers.
        self.watched = asyncio.Event()
        self.counts = Counts()
        # The revision up to which all events are in the batches of the groups.
        self._flushed = 0
        # Whether events that follow soon after the last batch wait for the end of a pause.
        self.is_spreading = False
        self._subscribers: set[Subscriber] = set()
        # The subscribers that do not count towards the limit.
        self._uncounted: set[Subscriber] = set()
        self._groups: dict[Selection, Group[Subscriber]] = {}
        # The groups by the keys of the events that they may want.
        self._index: defaultdict[_Key, set[Group[Subscriber]]] = defaultdict(set)
        # The groups with events that are not in their batches yet, the size of these events, and when the pause ends.
        self._pending: dict[Group[Subscriber], None] = {}
        self._pending_bytes = 0
        self._next_flush = 0.0
        self._timer: asyncio.TimerHandle | None = None
        # The measured processor time of handing a batch to one watcher.
        self._watcher_seconds = spread.watcher_seconds if spread is not None else 0.0

    @property
    def released(self) -> int:
        """The revision up to which the log has been released to this process."""
        return self._ring.last

    @property
    def pause_seconds(self) -> float:
        """The time until events that are published now are sent; 0 if they are sent at once."""
        return max(self._next_flush - self._spread.clock(), 0.0) if self._spread is not None else 0.0

    @property
    def history_id(self) -> str:
        """The history that revisions belong to."""
        return self._history_id

    @property
    def is_open(self) -> bool:
        """Whether watchers are accepted."""
        return self._refusal is None

    @property
    def behind_count(self) -> int:
        """The number of watchers that are not live."""
        return sum(not subscriber.is_live for subscriber in self._subscribers)

    @property
    def subscribers(self) -> list[Subscriber]:
        """A copy of the set of watchers."""
        return list(self._subscribers)

    def open(self, *, history_id: str, last: int) -> None:
        """Accept watchers of this history, whose events have been released up to the revision.

        `close` must have ended all earlier watchers.
        """
        self._ring = Ring(last=last, limit_bytes=self._ring_bytes)
        self._flushed = last
        self._history_id = history_id
        self._refusal = None
        self.opened.set()

    def close(self, reason: Exception) -> None:
        """End every watcher once it has taken its last batches, and accept no new one until `open` is called again."""
        # A new watcher has lost nothing yet: it may try again. Its position is checked when the log is open again.
        self._refusal = reason if isinstance(reason, errors.Unavailable) else _begins_anew(reason)
        self.flush()
        for subscriber in self._subscribers:
            own = _reason_for(subscriber, reason)
            subscriber.end(own, rest=self._leave(subscriber))

    def publish(self, events: Sequence[Event], *, released: int) -> None:
        """Give events to the watchers that selected them.

        `events` are all events after the `released` of the last call, up to the `released` of this call.
        """
        entries = self.entries(events)
        self._ring.extend(entries, last=released)
        # Without groups no watcher can be interested, so the search for them is left out.
        if self._index:
            self._hand_out(entries)
        if self._spread is None or self._pending_bytes >= MAX_BYTES or not self._pending:
            self.flush()
        elif self._timer is None:
            pause = self.pause_seconds
            if pause:
                self._timer = self._spread.call_later(pause, self.flush)
            else:
                self.flush()

    def _hand_out(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            for group in self._interested(entry.event):
                group.add(entry)
                self._pending[group] = None
                self._pending_bytes += entry.size

    def flush(self) -> None:
        """Put the published events into the batches of the groups, and wake the watchers of these groups."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flushed = released = self._ring.last
        woken: list[Subscriber] = []
        pending, self._pending = self._pending, {}
        self._pending_bytes = 0
        for group in pending:
            for subscriber in group.flush(released):
                self.counts.fallen_behind += 1
                self._leave(subscriber)
            woken += group.members
        self.is_spreading = self._spread is not None and len(woken) >= self._spread.few_watchers
        if self._spread is not None and self.is_spreading:
            self._hand_over(self._spread, woken)
        else:
            _wake(woken)

    def _hand_over(self, spread: Spread, woken: Sequence[Subscriber]) -> None:
        """Wake many watchers, and begin the pause before the next batch."""
        # A watcher that still sends its last batch takes this one later, and costs nothing now.
        taking = sum(subscriber.is_waiting for subscriber in woken)
        used_before = spread.processor()
        _wake(woken)
        # The loop runs the woken watchers before `_note_cost`, so the processor time of their writes is included.
        spread.call_soon(functools.partial(self._note_cost, spread, taking, used_before))
        pause = max(len(woken) * self._watcher_seconds * spread.times, spread.shortest_seconds)
        self._next_flush = spread.clock() + min(pause, spread.longest_seconds)

    def _note_cost(self, spread: Spread, taking: int, used_before: float) -> None:
        if taking >= spread.few_watchers:
            cost = (spread.processor() - used_before) / taking
            self._watcher_seconds += (cost - self._watcher_seconds) * spread.latest_share

    def subscribe(self, selection: Selection, *, position: int, is_counted: bool = True) -> Subscriber:
        """Add a watcher that wants the selected events from the revision on. It begins behind; see `catch_up`.

        A watcher of the server itself is not counted: the limit of watchers does not hold for it.
        Raises `errors.LimitReached`, and the reason for which the hub is closed.
        """
        if self._refusal is not None:
            # Every caller raises the same object: without this, each raise would make its traceback longer.
            raise self._refusal.with_traceback(None)
        if is_counted and len(self._subscribers) - len(self._uncounted) >= self._max_subscribers:
            raise errors.LimitReached(f"this server has its limit of {self._max_subscribers} watchers; try another one")
        subscriber = Subscriber(
            selection,
            history_id=self._history_id,
            position=position,
            flushed=self.flushed,
            unsubscribe=self.unsubscribe,
        )
        self._subscribers.add(subscriber)
        self.watched.set()
        if not is_counted:
            self._uncounted.add(subscriber)
        return subscriber

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Remove a watcher; may be called twice."""
        self._leave(subscriber)
        self._subscribers.discard(subscriber)
        self._uncounted.discard(subscriber)
        if not self._subscribers:
            self.watched.clear()

    def end_slow(self, subscriber: Subscriber, reason: Exception) -> None:
        """End a watcher at once, drop the batches that it has not taken, and interrupt the task that serves it."""
        self.counts.too_slow += 1
        self._leave(subscriber)
        subscriber.end(reason, rest=[])
        subscriber.cut_off()

    def flushed(self) -> int:
        """Return the revision up to which all events are in the batches of the groups."""
        return self._flushed

    def holds(self, revision: int) -> bool:
        """Whether all events from the revision on are still in the ring."""
        return revision >= self._ring.first

    def entries(self, events: Sequence[Event]) -> list[Entry]:
        """Return the events as entries, which encode themselves once."""
        return [Entry(event, self._encode) for event in events]

    def catch_up(
        self, subscriber: Subscriber, *, max_count: int = MAX_COUNT, max_bytes: int = MAX_BYTES
    ) -> Excerpt | None:
        """Read the next part of the ring for a watcher that is behind, and make it live at the end of the ring.

        Returns None if the ring no longer holds the watcher's position, so that the table must be read instead. If the
        watcher has ended, raises the reason.
        """
        subscriber.check()
        if not self.holds(subscriber.position):
            return None
        # The watcher gets all published events from the ring, so none of them may come again in a later batch.
        if self._pending:
            self.flush()
        excerpt = self._ring.read(
            subscriber.position,
            subscriber.selection,
            max_scanned=_MAX_SCANNED,
            max_count=max_count,
            max_bytes=max_bytes,
        )
        self.counts.ring_reads += 1
        subscriber.position = max(subscriber.position, excerpt.revision + 1)
        if subscriber.position > self.released and subscriber in self._subscribers:
            self._join(subscriber)
        return excerpt

    def _join(self, subscriber: Subscriber) -> None:
        group = self._group_for(subscriber.selection)
        group.members.add(subscriber)
        subscriber.group = group
        subscriber.cursor = group.following
        subscriber.was_live = True

    def _group_for(self, selection: Selection) -> Group[Subscriber]:
        group = self._groups.get(selection)
        if group is None:
            group = self._groups[selection] = Group(selection, limit_bytes=self._subscriber_bytes)
            for key in _keys(selection):
                self._index[key].add(group)
        return group

    def _leave(self, subscriber: Subscriber) -> list[Batch]:
        """Remove a watcher from its group, if it is in one; return the batches that it has not taken."""
        group = subscriber.group
        if group is None:
            return []
        subscriber.group = None
        rest = group.leave(subscriber)
        if not group.members:
            del self._groups[group.selection]
            if group in self._pending:
                del self._pending[group]
                self._pending_bytes -= group.pending_bytes
            for key in _keys(group.selection):
                self._index[key].discard(group)
                if not self._index[key]:
                    del self._index[key]
        subscriber.wake()
        return rest

    def _interested(self, event: Event) -> list[Group[Subscriber]]:
        if len(self._groups) <= self._few_groups:
            return [group for group in self._groups.values() if group.selection.matches(event)]
        found = [self._index[key] for key in _keys_of(event) if key in self._index]
        return [group for groups in found for group in groups if group.selection.matches(event)]


def _wake(subscribers: Iterable[Subscriber]) -> None:
    for subscriber in subscribers:
        subscriber.wake()


def _reason_for(subscriber: Subscriber, reason: Exception) -> Exception:
    is_ahead = isinstance(reason, errors.Compacted) and subscriber.position >= reason.oldest_revision
    if is_ahead and not subscriber.is_live:
        # The forgotten events lie below the watcher's position, so it loses nothing: it may resume.
        return _begins_anew(reason)
    return reason


def _begins_anew(reason: Exception) -> errors.Unavailable:
    return errors.Unavailable(f"this server begins to read the event log anew, since {_why(reason)}; try again")


def _why(reason: Exception) -> str:
    if isinstance(reason, errors.Compacted):
        return f"events below revision {reason.oldest_revision} were forgotten before it had read them"
    return "the database is another one than before, or events were lost that it had read"


def _keys(selection: Selection) -> Iterator[_Key]:
    """Yield the keys under which the index has a selection, made of its narrowest condition."""
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
    """Return every key under which the index may have a selection that matches the event."""
    keys: set[_Key] = {(event.name, None, None)}
    keys.update((resource_id, None, None) for resource_id in (event.resource_id, event.parent_id) if resource_id)
    keys.update(
        ("", resource_type, event_type)
        for resource_type in (event.resource_type, None)
        for event_type in (event.event_type, None)
    )
    return keys
