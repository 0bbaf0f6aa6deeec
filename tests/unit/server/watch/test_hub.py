"""Hub, groups, streams and sweep, one rule at a time; `test_interleaving` holds all of them to the contract at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from support.log_event import IDS, make_event
from support.log_table import Table, encode_event, encode_row, parse, respond
from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.event import Event
from tinkwell.core.log import Replay, Selection
from tinkwell.server.watch.history import Entry, Ring
from tinkwell.server.watch.hub import Hub, Spread
from tinkwell.server.watch.stream import Streams
from tinkwell.server.watch.subscriber import Subscriber
from tinkwell.server.watch.sweep import Patience, Sweep

ALL = 1 << 20
GREETING = b"created"


def make_hub(*, ring_bytes: int = 1 << 20, subscriber_bytes: int = 1 << 20, max_subscribers: int = 100) -> Hub:
    hub = Hub(
        encode=encode_event, ring_bytes=ring_bytes, subscriber_bytes=subscriber_bytes, max_subscribers=max_subscribers
    )
    hub.open(history_id="h", last=0)
    return hub


def make_streams(hub: Hub, table: Table) -> Streams:
    return Streams(hub, table, encode_row=encode_row, respond=respond, table_readers=2)


def live(hub: Hub, selection: Selection | None = None) -> Subscriber:
    subscriber = hub.subscribe(selection or Selection(), position=hub.released + 1)
    hub.catch_up(subscriber)
    assert subscriber.is_live
    return subscriber


def taken(subscriber: Subscriber) -> list[int]:
    return [entry.event.revision for batch in subscriber.take(max_bytes=ALL) for entry in batch.entries]


class Transport:
    """Takes responses, until it is told to take no more."""

    def __init__(self) -> None:
        self.responses: list[tuple[list[int], int]] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.holds_greeting = False

    async def write(self, response: bytes) -> None:
        if response != GREETING:
            self.responses.append(parse(response))
        elif not self.holds_greeting:
            return
        await self.is_open.wait()

    @property
    def revisions(self) -> list[int]:
        return [revision for revisions, _ in self.responses for revision in revisions]


class HangingTable(Table):
    """Its second read lasts until it is interrupted, and then until it may end, like one of a database that is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = asyncio.Event()

    async def replay(
        self, *, history_id: str, first: int, last: int, selection: Selection, max_count: int, max_bytes: int
    ) -> Replay:
        page = await super().replay(
            history_id=history_id,
            first=first,
            last=last,
            selection=selection,
            max_count=max_count,
            max_bytes=max_bytes,
        )
        if self.reads == 2:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                await self.may_end.wait()
        return page


@asynccontextmanager
async def delivering(
    hub: Hub, table: Table, *, position: int = 1
) -> AsyncIterator[tuple[Transport, Subscriber, "asyncio.Task[None]"]]:
    subscriber, transport = hub.subscribe(Selection(), position=position), Transport()
    task = asyncio.create_task(make_streams(hub, table).deliver(subscriber, transport.write, greeting=GREETING))
    try:
        yield transport, subscriber, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        subscriber.close()


async def outcome(hub: Hub, table: Table, *, position: int = 1) -> None:
    subscriber = hub.subscribe(Selection(), position=position)
    async with asyncio.timeout(10):
        await make_streams(hub, table).deliver(subscriber, Transport().write, greeting=GREETING)


def test_watchers_of_one_selection_share_what_is_sent_to_them() -> None:
    hub = make_hub()
    one, two = live(hub), live(hub)
    hub.publish([make_event(1), make_event(2)], released=3)
    (batch,), (other,) = one.take(max_bytes=ALL), two.take(max_bytes=ALL)
    assert batch.response(respond, "h") is other.response(respond, "h")
    assert parse(batch.response(respond, "h")) == ([1, 2], 3)


def test_what_all_have_taken_is_not_kept() -> None:
    hub = make_hub()
    one, two = live(hub), live(hub)
    group = one.group
    assert group is not None
    for revision in range(1, 101):
        hub.publish([make_event(revision)], released=revision)
        taken(one)
        taken(two)
        assert group.first == group.following


def test_a_watcher_that_takes_nothing_is_overtaken_and_costs_nothing() -> None:
    hub = make_hub(subscriber_bytes=10_000)
    frozen = live(hub)
    for revision in range(1, 101):
        hub.publish([make_event(revision)], released=revision)
    assert (hub.behind_count, hub.counts.fallen_behind) == (1, 1)
    assert frozen.position == 1
    assert not hub._groups, "nobody is there to put anything aside for"


def test_a_watcher_is_overtaken_at_its_first_event_not_where_it_joined() -> None:
    hub = make_hub(subscriber_bytes=10_000)
    rare = live(hub, Selection(names=frozenset({"rack.door_opened"})))
    hub.publish([make_event(revision) for revision in range(1, 500)], released=499)
    for revision in range(500, 520):
        hub.publish([make_event(revision, kind=4)], released=revision)
    assert not rare.is_live
    assert rare.position == 500


def test_a_slow_watcher_does_not_keep_others_from_live_delivery() -> None:
    hub = make_hub(subscriber_bytes=10_000)
    slow, fast = live(hub), live(hub)
    for revision in range(1, 50):
        hub.publish([make_event(revision)], released=revision)
        assert taken(fast) == [revision]
    assert fast.is_live
    assert not slow.is_live


def test_one_event_larger_than_the_bound_is_delivered() -> None:
    hub = make_hub(subscriber_bytes=100)
    subscriber = live(hub)
    hub.publish([make_event(1, data="x" * 50_000)], released=1)
    assert taken(subscriber) == [1]


def test_an_event_is_encoded_once_for_all() -> None:
    calls: list[int] = []

    def counting(event: Event) -> bytes:
        calls.append(event.revision)
        return b"x"

    hub = Hub(encode=counting, ring_bytes=1 << 20, subscriber_bytes=1 << 20, max_subscribers=10)
    hub.open(history_id="h", last=0)
    watchers = [live(hub), live(hub), live(hub, Selection(resource_id=IDS[1]))]
    hub.publish([make_event(1)], released=1)
    for subscriber in watchers:
        for batch in subscriber.take(max_bytes=ALL):
            batch.response(respond, "h")
    assert calls == [1]


def test_a_closed_watcher_leaves_nothing_behind() -> None:
    hub = make_hub()
    subscriber = live(hub, Selection(resource_id=IDS[1]))
    hub.publish([make_event(1)], released=1)
    subscriber.close()
    subscriber.close()
    assert hub.subscriber_count == 0
    assert not hub._index
    assert not hub._groups


def test_the_hub_refuses_more_watchers_than_its_limit() -> None:
    hub = make_hub(max_subscribers=1)
    hub.subscribe(Selection(), position=1)
    with pytest.raises(errors.LimitReached):
        hub.subscribe(Selection(), position=1)


def test_a_watcher_of_the_servers_own_finds_a_place_and_takes_nobodys() -> None:
    hub = make_hub(max_subscribers=1)
    own = hub.subscribe(Selection(), position=1, is_counted=False)
    hub.subscribe(Selection(), position=1)
    own.close()
    with pytest.raises(errors.LimitReached):
        hub.subscribe(Selection(), position=1)
    hub.subscribe(Selection(), position=1, is_counted=False)


def test_closing_ends_watchers_with_the_reason_after_what_they_are_due() -> None:
    hub = make_hub()
    subscriber = live(hub)
    hub.publish([make_event(1)], released=1)
    hub.close(errors.Unavailable("stopping"))
    assert taken(subscriber) == [1]
    with pytest.raises(errors.Unavailable, match="stopping"):
        subscriber.take(max_bytes=ALL)
    with pytest.raises(errors.Unavailable, match="stopping"):
        hub.subscribe(Selection(), position=1)


def test_a_watcher_of_an_ended_history_receives_nothing_of_the_next() -> None:
    hub = make_hub()
    subscriber = live(hub)
    hub.close(errors.OtherHistory("another", history_id="i"))
    hub.open(history_id="i", last=0)
    hub.publish([make_event(1)], released=1)
    with pytest.raises(errors.OtherHistory):
        subscriber.take(max_bytes=ALL)


def test_the_ring_gives_up_its_oldest_events_by_bytes() -> None:
    ring = Ring(last=0, limit_bytes=10_000)
    for revision in range(1, 5_001):
        ring.extend([Entry(make_event(revision), encode_event)], last=revision)
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
            subscriber.take(max_bytes=1)
        depths.append(len(caught.traceback))
        with pytest.raises(errors.Unavailable) as caught:
            hub.subscribe(Selection(), position=1)
        depths.append(len(caught.traceback))
    assert max(depths) < 5, "every raise of the same exception would add to its traceback, and keep the frames alive"


async def test_a_busy_log_reaches_many_watchers_in_larger_batches_and_an_idle_one_at_once() -> None:
    now, delays = 0.0, list[float]()

    def call_later(delay: float, callback: object) -> asyncio.TimerHandle:
        delays.append(delay)
        return asyncio.get_running_loop().call_later(3_600, lambda: None)

    spread = Spread(call_later=call_later, clock=lambda: now, watcher_seconds=0.001, longest_seconds=1.0)
    hub = Hub(encode=encode_event, ring_bytes=ALL, subscriber_bytes=ALL, max_subscribers=100, spread=spread)
    hub.open(history_id="h", last=0)
    watchers = [live(hub) for _ in range(20)]
    hub.publish([make_event(1)], released=1)
    assert taken(watchers[0]) == [1]
    for revision in (2, 3):
        hub.publish([make_event(revision)], released=revision)
    assert (taken(watchers[0]), delays) == ([], [0.02])
    hub.flush()
    assert taken(watchers[0]) == [2, 3]
    now = 1.0
    hub.publish([make_event(4)], released=4)
    assert taken(watchers[0]) == [4]


async def test_a_stream_begins_with_what_is_kept_and_goes_on_live() -> None:
    hub, table = make_hub(), Table()
    hub.publish([make_event(1), make_event(2)], released=3)
    async with delivering(hub, table) as (transport, _, _):
        await eventually(lambda: transport.responses == [([1, 2], 3)])
        hub.publish([make_event(4)], released=4)
        await eventually(lambda: transport.responses[1:] == [([4], 4)])


async def test_what_waited_for_a_slow_transport_goes_out_in_one_response() -> None:
    hub, table = make_hub(), Table()
    async with delivering(hub, table) as (transport, _, _):
        await eventually(lambda: len(transport.responses) == 1)
        transport.is_open.clear()
        for revision in range(1, 5):
            hub.publish([make_event(revision)], released=revision)
            await asyncio.sleep(0)
        transport.is_open.set()
        await eventually(lambda: transport.responses[1:] == [([1], 1), ([2, 3, 4], 4)])


async def test_the_table_is_read_one_piece_ahead_of_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkwell.server.watch.stream._MAX_ROWS", 10)
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(revision) for revision in range(1, 101)]
    hub.publish(table.events, released=100)
    async with delivering(hub, table) as (transport, _, _):
        transport.is_open.clear()
        await eventually(lambda: len(transport.responses) == 1 and table.reads == 2)
        for _ in range(20):
            await asyncio.sleep(0)
        assert table.reads == 2, "a client that takes nothing is not read for on and on"
        transport.is_open.set()
        await eventually(lambda: transport.revisions == list(range(1, 101)))
    assert hub.counts.table_reads >= 10


async def test_a_watcher_behind_the_ring_reads_the_table_again_after_a_failure() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(1), make_event(2)]
    table.failures = 2
    hub.publish(table.events, released=2)
    async with delivering(hub, table) as (transport, _, _):
        await eventually(lambda: transport.revisions == [1, 2])


async def test_a_table_that_stays_away_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.failures = 100
    hub.publish([make_event(1)], released=1)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(errors.Unavailable):
        await outcome(hub, table)
    assert slept, "it tried again before it gave up"


async def test_a_position_that_is_no_longer_kept_ends_the_stream() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.oldest = 3
    hub.publish([make_event(n) for n in (1, 2, 3)], released=3)
    with pytest.raises(errors.Compacted) as caught:
        await outcome(hub, table)
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
    async with delivering(hub, table) as (transport, subscriber, task):
        with pytest.raises(errors.OtherHistory):
            await task
        assert transport.responses == []
        assert not subscriber.is_live
    assert not hub._index


async def test_an_error_of_the_transport_ends_a_stream_that_reads_ahead() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(revision) for revision in range(1, 5_000)]
    hub.publish(table.events, released=4_999)

    async def fail(_: bytes) -> None:
        await asyncio.sleep(0)
        raise ConnectionResetError

    subscriber = hub.subscribe(Selection(), position=1)
    with pytest.raises(ConnectionResetError):
        await make_streams(hub, table).deliver(subscriber, fail, greeting=GREETING)


async def test_idle_watchers_are_reminded_soon_of_what_is_new_and_seldom_of_nothing() -> None:
    hub, table = make_hub(), Table()
    sweep = Sweep(hub, Patience(bookmark_seconds=5, quiet_seconds=15))
    async with delivering(hub, table) as (transport, subscriber, _):
        await eventually(lambda: subscriber.is_waiting)
        begun = subscriber.told_at

        async def bookmarks_after(seconds: float) -> list[int]:
            del transport.responses[:]
            sweep.look_at(subscriber, now=begun + seconds)
            for _ in range(5):
                await asyncio.sleep(0)
            return [bookmark for _, bookmark in transport.responses]

        # Each is looked at every 2.5 seconds, so whoever is due before the next look is due now.
        assert await bookmarks_after(12) == []
        assert await bookmarks_after(13) == [0]
        hub.publish([], released=7)
        assert await bookmarks_after(2) == []
        assert await bookmarks_after(3) == [7]


async def test_a_watcher_that_takes_nothing_for_too_long_is_ended_at_once() -> None:
    hub, table = make_hub(), Table()
    sweep = Sweep(hub, Patience(stall_seconds=60))
    async with delivering(hub, table) as (transport, subscriber, task):
        transport.is_open.clear()
        hub.publish([make_event(1)], released=1)
        await eventually(lambda: subscriber.sending_since is not None)
        assert subscriber.sending_since is not None
        sweep.look_at(subscriber, now=subscriber.sending_since + 59)
        assert not task.done()
        sweep.look_at(subscriber, now=subscriber.sending_since + 61)
        with pytest.raises(errors.TooSlow, match="60 seconds"):
            await task
        assert hub.counts.too_slow == 1


async def test_a_watcher_that_does_not_even_take_the_greeting_is_ended() -> None:
    hub, table = make_hub(), Table()
    async with delivering(hub, table) as (transport, subscriber, task):
        transport.is_open.clear()
        transport.holds_greeting = True
        await eventually(lambda: subscriber.sending_since is not None)
        assert subscriber.sending_since is not None
        Sweep(hub, Patience(stall_seconds=60)).look_at(subscriber, now=subscriber.sending_since + 61)
        with pytest.raises(errors.TooSlow):
            await task


async def test_only_who_has_been_live_can_be_too_far_behind() -> None:
    hub, table = make_hub(ring_bytes=1, subscriber_bytes=1), Table()
    sweep = Sweep(hub, Patience(lag_revisions=10))
    table.events = [make_event(revision) for revision in range(1, 101)]
    replaying = hub.subscribe(Selection(), position=1)
    async with delivering(hub, table) as (transport, subscriber, task):
        await eventually(lambda: subscriber.is_waiting)
        transport.is_open.clear()
        for event in table.events:
            hub.publish([event], released=event.revision)
            await asyncio.sleep(0)
        sweep.look_at(replaying, now=0)
        sweep.look_at(subscriber, now=0)
        with pytest.raises(errors.TooSlow, match="10 revisions"):
            await task
    replaying.check()


async def test_a_watcher_is_not_too_far_behind_for_what_is_in_memory() -> None:
    hub, table = make_hub(subscriber_bytes=1), Table()
    async with delivering(hub, table) as (transport, subscriber, _):
        await eventually(lambda: subscriber.is_waiting)
        transport.is_open.clear()
        # As when the rest of a partition's numbers is thrown away.
        for revision in (1, 2, 10_000_000, 10_000_001):
            hub.publish([make_event(revision)], released=revision)
            await asyncio.sleep(0)
        assert not subscriber.is_live
        Sweep(hub, Patience(lag_revisions=10)).look_at(subscriber, now=0)
        transport.is_open.set()
        await eventually(lambda: subscriber.is_live)
    assert hub.counts.too_slow == 0


async def test_a_watcher_that_takes_a_while_to_be_interrupted_is_interrupted_once() -> None:
    hub, table = make_hub(ring_bytes=1), HangingTable()
    table.events = [make_event(revision) for revision in range(1, 5_001)]
    hub.publish(table.events, released=5_000)
    sweep = Sweep(hub, Patience(stall_seconds=60))
    async with delivering(hub, table) as (transport, subscriber, task):
        transport.is_open.clear()
        await eventually(lambda: table.reads == 2)
        assert subscriber.sending_since is not None
        for seconds in (61, 63.5):
            sweep.look_at(subscriber, now=subscriber.sending_since + seconds)
            for _ in range(5):
                await asyncio.sleep(0)
        table.may_end.set()
        with pytest.raises(errors.TooSlow):
            await task
    assert hub.counts.too_slow == 1


def test_a_watcher_that_has_gone_or_takes_the_rest_of_what_it_is_due_is_not_too_slow() -> None:
    hub = make_hub()
    sweep = Sweep(hub, Patience(lag_revisions=10))
    gone, ended = live(hub), live(hub)
    hub.publish([make_event(100)], released=100)
    gone.close()
    hub.close(errors.Unavailable("stopping"))
    for watcher in (gone, ended):
        sweep.look_at(watcher, now=0)
    assert taken(ended) == [100]
    assert hub.counts.too_slow == 0


async def test_a_round_of_the_sweep_looks_at_every_watcher() -> None:
    hub, table = make_hub(), Table()
    sweep = Sweep(hub, Patience(bookmark_seconds=0.01, quiet_seconds=0.01))
    async with contextlib.AsyncExitStack() as stack:
        transports = [(await stack.enter_async_context(delivering(hub, table)))[0] for _ in range(60)]
        task = asyncio.create_task(sweep.run())
        await eventually(lambda: all(len(transport.responses) >= 3 for transport in transports))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_who_waits_for_what_is_kept_is_not_told_that_it_was_forgotten() -> None:
    hub = make_hub()
    ahead, behind = hub.subscribe(Selection(), position=500), hub.subscribe(Selection(), position=90)
    hub.close(errors.Compacted(90, 100))
    with pytest.raises(errors.Unavailable):
        ahead.check()
    with pytest.raises(errors.Compacted):
        behind.check()
