"""Hub, ring and subscribers under any interleaving: nothing lost, repeated or out of order, and memory is bounded."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.log_event import IDS, KINDS, make_event
from tinkwell.core import errors
from tinkwell.core.event import Event
from tinkwell.core.log import History, Replay, Selection, SourceLost
from tinkwell.server.watch.history import Entry, Excerpt, Ring
from tinkwell.server.watch.hub import Hub
from tinkwell.server.watch.stream import Streams


def encode(event: Event) -> bytes:
    return str(event.revision).encode()


def make_hub(*, ring_bytes: int = 1 << 20, subscriber_bytes: int = 1 << 20, max_subscribers: int = 100) -> Hub:
    hub = Hub(encode=encode, ring_bytes=ring_bytes, subscriber_bytes=subscriber_bytes, max_subscribers=max_subscribers)
    hub.open(history_id="h", last=0)
    return hub


class Table:
    """A log source that only replays, from a list; it can be told to forget or to be away."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.oldest = 1
        self.failures = 0
        self.while_reading: Callable[[], None] = lambda: None

    async def replay(
        self, *, history_id: str, first: int, last: int, selection: Selection, max_count: int, max_bytes: int
    ) -> Replay:
        if self.failures:
            self.failures -= 1
            raise SourceLost("away")
        self.while_reading()
        if first < self.oldest:
            raise errors.Compacted(first, self.oldest)
        found = [event for event in self.events if first <= event.revision <= last and selection.matches(event)]
        return Replay(found[:max_count], found[max_count - 1].revision if len(found) >= max_count else last)

    def session(self) -> contextlib.AbstractAsyncContextManager[object]:
        raise AssertionError("only the reader opens sessions")

    async def first_revision_since(self, seconds: float) -> int:
        raise AssertionError("only the service asks")

    async def last_drawn(self) -> int:
        raise AssertionError("only the service asks")

    async def history(self) -> History:
        raise AssertionError("only the service asks")


def streams(hub: Hub, table: Table, *, idle_seconds: float = 5.0) -> Streams:
    return Streams(hub, table, encode=encode, table_readers=2, idle_seconds=idle_seconds)  # type: ignore[arg-type]


selections = st.builds(
    Selection,
    event_types=st.frozensets(st.sampled_from([kind[1] for kind in KINDS]), max_size=2),
    resource_types=st.frozensets(st.sampled_from([kind[0] for kind in KINDS]), max_size=2),
    names=st.frozensets(st.sampled_from([kind[2] for kind in KINDS]), max_size=2),
    resource_id=st.sampled_from(IDS),
)
event_kinds = st.tuples(
    st.integers(0, len(KINDS) - 1), st.integers(0, 2), st.integers(0, 2), st.sampled_from([1, 500, 4_000])
)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.lists(event_kinds, max_size=4), st.integers(0, 3)),
        st.tuples(st.just("take"), st.integers(0, 2), st.sampled_from([1, 3, 500])),
    ),
    max_size=40,
)


async def drive(
    hub: Hub, table: Table, script: Sequence[tuple[str, object, int]], watchers: Sequence[Selection]
) -> tuple[list[list[int]], list[list[int]]]:
    """Publish and take as the script says; return what each watcher received, and its bookmarks."""
    subscribers = [hub.subscribe(selection, position=1) for selection in watchers]
    follow = streams(hub, table)
    got: list[list[int]] = [[] for _ in watchers]
    marks: list[list[int]] = [[] for _ in watchers]
    last = 0

    async def take(index: int, count: int) -> bool:
        subscriber = subscribers[index]
        excerpt = subscriber.take(max_count=count, max_bytes=1 << 20)
        if excerpt is None and not subscriber.is_live:
            excerpt = await follow._catch_up(subscriber)
        if excerpt is None:
            return False
        got[index] += [entry.event.revision for entry in excerpt.entries]
        marks[index].append(excerpt.revision)
        promised = [e.revision for e in table.events if e.revision <= excerpt.revision and watchers[index].matches(e)]
        assert got[index][: len(promised)] == promised
        return True

    for what, subject, number in script:
        if what == "publish":
            assert isinstance(subject, list)
            events = []
            for kind, resource, parent, size in subject:
                last += 1
                events.append(make_event(last, kind=kind, resource=resource, parent=parent, data="x" * size))
            last += number
            table.events += events
            hub.publish(events, released=last)
        else:
            assert isinstance(subject, int)
            await take(subject % len(watchers), number)
    for index in range(len(watchers)):
        while await take(index, 500):
            pass
    return got, marks


@settings(max_examples=300, deadline=None)
@given(
    moves,
    st.lists(selections, min_size=1, max_size=3),
    st.sampled_from([1, 6_000, 1 << 20]),
    st.sampled_from([1, 3_000, 1 << 20]),
)
def test_each_watcher_receives_exactly_what_it_selected_in_order(
    script: list[tuple[str, object, int]], watchers: list[Selection], ring_bytes: int, subscriber_bytes: int
) -> None:
    hub, table = make_hub(ring_bytes=ring_bytes, subscriber_bytes=subscriber_bytes), Table()
    got, marks = asyncio.run(drive(hub, table, script, watchers))
    for selection, revisions, bookmarks in zip(watchers, got, marks, strict=True):
        assert revisions == [event.revision for event in table.events if selection.matches(event)]
        assert bookmarks == sorted(bookmarks)
        assert all(mark <= hub.released for mark in bookmarks)


def test_a_full_buffer_makes_a_watcher_fall_behind_and_not_grow() -> None:
    hub = make_hub(subscriber_bytes=5_000)
    subscriber = hub.subscribe(Selection(), position=1)
    hub.catch_up(subscriber, max_count=10, max_bytes=1 << 20)
    assert hub.behind_count == 0
    hub.publish([make_event(n, data="x" * 500) for n in range(1, 101)], released=100)
    assert hub.behind_count == 1
    taken = subscriber.take(max_count=500, max_bytes=1 << 20)
    assert taken is not None
    assert 1 <= len(taken.entries) <= 3
    assert taken.revision == taken.entries[-1].event.revision, "more was released than was offered"


def test_one_event_larger_than_the_buffer_is_delivered() -> None:
    hub = make_hub(subscriber_bytes=100)
    subscriber = hub.subscribe(Selection(), position=1)
    hub.catch_up(subscriber, max_count=10, max_bytes=100)
    hub.publish([make_event(1, data="x" * 50_000)], released=1)
    taken = subscriber.take(max_count=10, max_bytes=100)
    assert taken is not None
    assert [entry.event.revision for entry in taken.entries] == [1]


def test_a_slow_watcher_does_not_keep_others_from_live_delivery() -> None:
    hub = make_hub(subscriber_bytes=3_000)
    slow, fast = (hub.subscribe(Selection(), position=1) for _ in range(2))
    for subscriber in (slow, fast):
        hub.catch_up(subscriber, max_count=10, max_bytes=100)
    for revision in range(1, 50):
        hub.publish([make_event(revision)], released=revision)
        taken = fast.take(max_count=10, max_bytes=1 << 20)
        assert taken is not None
        assert taken.revision == revision
    assert fast.is_live
    assert not slow.is_live


def test_an_event_is_encoded_once_for_all() -> None:
    calls: list[int] = []

    def counting(event: Event) -> bytes:
        calls.append(event.revision)
        return b"x"

    hub = Hub(encode=counting, ring_bytes=1 << 20, subscriber_bytes=1 << 20, max_subscribers=10)
    hub.open(history_id="h", last=0)
    subscribers = [hub.subscribe(Selection(), position=1) for _ in range(5)]
    for subscriber in subscribers:
        hub.catch_up(subscriber, max_count=10, max_bytes=100)
    hub.publish([make_event(1)], released=1)
    for subscriber in subscribers:
        taken = subscriber.take(max_count=10, max_bytes=100)
        assert taken is not None
        assert [entry.encoded for entry in taken.entries] == [b"x"]
    assert calls == [1]


def test_a_closed_watcher_leaves_nothing_behind() -> None:
    hub = make_hub()
    subscriber = hub.subscribe(Selection(resource_id=IDS[1]), position=1)
    hub.catch_up(subscriber, max_count=10, max_bytes=100)
    subscriber.close()
    subscriber.close()
    assert hub.subscriber_count == 0
    assert not hub._live


def test_the_hub_refuses_more_watchers_than_its_limit() -> None:
    hub = make_hub(max_subscribers=1)
    hub.subscribe(Selection(), position=1)
    with pytest.raises(errors.LimitReached):
        hub.subscribe(Selection(), position=1)


def test_closing_ends_watchers_with_the_reason_after_what_they_are_due() -> None:
    hub = make_hub()
    subscriber = hub.subscribe(Selection(), position=1)
    hub.catch_up(subscriber, max_count=10, max_bytes=100)
    hub.publish([make_event(1)], released=1)
    hub.close(errors.Unavailable("stopping"))
    assert subscriber.take(max_count=10, max_bytes=1 << 20) is not None
    with pytest.raises(errors.Unavailable, match="stopping"):
        subscriber.take(max_count=10, max_bytes=1 << 20)
    with pytest.raises(errors.Unavailable, match="stopping"):
        hub.subscribe(Selection(), position=1)


def test_a_watcher_of_an_ended_history_receives_nothing_of_the_next() -> None:
    hub = make_hub()
    subscriber = hub.subscribe(Selection(), position=1)
    hub.catch_up(subscriber, max_count=10, max_bytes=100)
    hub.close(errors.OtherHistory("another", history_id="i"))
    hub.open(history_id="i", last=0)
    hub.publish([make_event(1)], released=1)
    with pytest.raises(errors.OtherHistory):
        subscriber.take(max_count=10, max_bytes=1 << 20)


def test_the_ring_gives_up_its_oldest_events_by_bytes() -> None:
    ring = Ring(last=0, limit_bytes=10_000)
    for revision in range(1, 5_001):
        ring.extend([Entry(make_event(revision), encode)], last=revision)
    assert ring.first > 4_900
    excerpt = ring.read(ring.first, Selection(), max_scanned=5_000, max_count=5_000, max_bytes=1 << 20)
    assert [entry.event.revision for entry in excerpt.entries] == list(range(ring.first, 5_001))


def test_a_reason_that_is_told_to_many_does_not_grow() -> None:
    hub = make_hub()
    subscribers = [hub.subscribe(Selection(), position=1) for _ in range(3)]
    hub.close(errors.Unavailable("away"))
    depths: list[int] = []
    for subscriber in subscribers:
        with pytest.raises(errors.Unavailable) as caught:
            subscriber.take(max_count=1, max_bytes=1)
        depths.append(len(caught.traceback))
        with pytest.raises(errors.Unavailable) as caught:
            hub.subscribe(Selection(), position=1)
        depths.append(len(caught.traceback))
    assert max(depths) < 5, "every raise of the same exception would add to its traceback, and keep the frames alive"


def test_a_buffer_that_fills_at_the_very_moment_of_the_time_out_is_not_overlooked() -> None:
    """A bookmark in front of what the buffer holds would make clients drop it as already seen."""

    async def scenario() -> list[tuple[list[int], int]]:
        hub = make_hub()

        def publish(revision: int) -> None:
            hub.publish([make_event(revision)], released=revision)

        subscriber = hub.subscribe(Selection(), position=1)
        stream = streams(hub, Table(), idle_seconds=0).follow(subscriber)
        await anext(stream)
        got: list[tuple[list[int], int]] = []
        for revision in range(1, 4):
            waiting = asyncio.ensure_future(anext(stream))
            # Runs after the stream has begun to wait, and before its time-out is handled.
            asyncio.get_running_loop().call_soon(publish, revision)
            excerpt = await waiting
            got.append(([entry.event.revision for entry in excerpt.entries], excerpt.revision))
        await stream.aclose()
        return got

    assert asyncio.run(scenario()) == [([1], 1), ([2], 2), ([3], 3)]


async def first(follow: Streams, hub: Hub, count: int, *, position: int = 1) -> list[Excerpt]:
    subscriber = hub.subscribe(Selection(), position=position)
    excerpts: list[Excerpt] = []
    async with asyncio.timeout(10), contextlib.aclosing(follow.follow(subscriber)) as stream:
        async for excerpt in stream:
            excerpts.append(excerpt)
            if len(excerpts) == count:
                break
    return excerpts


async def test_an_idle_watcher_receives_bookmarks() -> None:
    hub = make_hub()
    excerpts = await first(streams(hub, Table(), idle_seconds=0.01), hub, 3)
    assert [excerpt.revision for excerpt in excerpts] == [0, 0, 0]


async def test_a_watcher_behind_the_ring_reads_the_table_again_after_a_failure() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(1), make_event(2)]
    table.failures = 2
    hub.publish(table.events, released=2)
    (excerpt,) = await first(streams(hub, table), hub, 1)
    assert [entry.event.revision for entry in excerpt.entries] == [1, 2]


async def test_a_table_that_stays_away_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.failures = 100
    hub.publish([make_event(1)], released=1)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(errors.Unavailable):
        await first(streams(hub, table), hub, 1)
    assert slept, "it tried again before it gave up"


async def test_a_position_that_is_no_longer_kept_ends_the_stream() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.oldest = 3
    hub.publish([make_event(n) for n in (1, 2, 3)], released=3)
    with pytest.raises(errors.Compacted) as caught:
        await first(streams(hub, table), hub, 1)
    assert caught.value.oldest_revision == 3


async def test_a_watcher_whose_history_ends_while_it_reads_the_table_receives_nothing_of_the_next() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(1), make_event(2)]
    hub.publish(table.events, released=2)

    def change() -> None:
        hub.close(errors.OtherHistory("another", history_id="i"))
        hub.open(history_id="i", last=1)
        hub.publish([make_event(2)], released=2)

    table.while_reading = change
    subscriber = hub.subscribe(Selection(), position=1)
    with pytest.raises(errors.OtherHistory):
        await anext(streams(hub, table).follow(subscriber))
    assert not subscriber.is_live
    assert not hub._live
