"""Hub and groups, one rule at a time; `test_interleaving` holds them and the streams to the contract at once."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from support.log_event import IDS, make_event
from support.log_hub import (
    ALL,
    live,
    make_hub,
    taken,
)
from support.log_table import encode_event, parse, respond
from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.pacing import Spread
from tinkwell.server.log.fanout.ring import Entry, Ring
from tinkwell.server.log.fanout.subscriber import Subscriber


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
    assert not hub.subscribers
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


class Loop:
    """What `Spread` needs of an event loop; its time passes when a test says so."""

    def __init__(self) -> None:
        self.now = self.used = 0.0
        self.soon: list[Callable[[], None]] = []
        self.delays: list[float] = []
        self.timer: asyncio.TimerHandle | None = None
        self.callback: Callable[[], None] = lambda: None

    def call_later(self, delay: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        self.delays.append(delay)
        self.timer, self.callback = asyncio.get_running_loop().call_later(3_600, callback), callback
        return self.timer

    def fire(self) -> None:
        """Let the last timer's time come."""
        assert self.timer is not None
        assert not self.timer.cancelled()
        self.timer.cancel()
        self.timer = None
        self.now += self.delays[-1]
        self.callback()

    def run_soon(self) -> None:
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()

    def spread(self, **changes: Any) -> Spread:
        return Spread(
            **{
                "call_soon": self.soon.append,
                "call_later": self.call_later,
                "clock": lambda: self.now,
                "processor": lambda: self.used,
                "watcher_seconds": 0.001,
                "times": 1.0,
                "longest_seconds": 1.0,
                **changes,
            }
        )


def spreading_hub(spread: Spread) -> Hub:
    hub = Hub(encode=encode_event, ring_bytes=ALL, subscriber_bytes=ALL, max_subscribers=100, spread=spread)
    hub.open(history_id="h", last=0)
    return hub


async def test_a_busy_log_reaches_many_watchers_in_larger_batches_and_an_idle_one_at_once() -> None:
    loop = Loop()
    hub = spreading_hub(loop.spread())
    watchers = [live(hub) for _ in range(20)]
    hub.publish([make_event(1)], released=1)
    assert taken(watchers[0]) == [1]
    for revision in (2, 3):
        hub.publish([make_event(revision)], released=revision)
    assert (taken(watchers[0]), loop.delays) == ([], [0.02])
    assert (hub.is_spreading, hub.pause_seconds) == (True, 0.02)
    hub.flush()
    live(hub)
    assert hub.is_spreading, "one that joins does not end it for the others"
    assert taken(watchers[0]) == [2, 3]
    loop.now = 1.0
    assert hub.pause_seconds == 0
    hub.publish([make_event(4)], released=4)
    assert taken(watchers[0]) == [4]


@pytest.fixture
def pausing() -> tuple[Loop, Hub, list[Subscriber]]:
    """A hub with twenty watchers that have an event, after which it pauses."""
    loop = Loop()
    hub = spreading_hub(loop.spread())
    watchers = [live(hub) for _ in range(20)]
    hub.publish([make_event(1)], released=1)
    assert [taken(watcher) for watcher in watchers] == [[1]] * 20
    return loop, hub, watchers


async def test_all_watchers_get_the_events_of_a_pause_at_its_end(
    pausing: tuple[Loop, Hub, list[Subscriber]],
) -> None:
    loop, hub, watchers = pausing
    loop.now += 0.005
    for revision in (2, 3):
        hub.publish([make_event(revision)], released=revision)
    assert {watcher.reached for watcher in watchers} == {1}
    assert loop.delays == pytest.approx([0.015])
    loop.fire()
    assert [taken(watcher) for watcher in watchers] == [[2, 3]] * 20
    assert {watcher.reached for watcher in watchers} == {3}
    assert loop.timer is None


async def test_a_watcher_that_joins_in_a_pause_gets_nothing_twice(
    pausing: tuple[Loop, Hub, list[Subscriber]],
) -> None:
    _, hub, watchers = pausing
    hub.publish([make_event(2)], released=2)
    newcomer = live(hub)
    assert [taken(watcher) for watcher in watchers] == [[2]] * 20
    assert (taken(newcomer), newcomer.reached) == ([], 2)


async def test_a_few_watchers_get_each_event_at_once() -> None:
    loop = Loop()
    hub = spreading_hub(loop.spread())
    watchers = [live(hub) for _ in range(9)]
    for revision in range(1, 4):
        hub.publish([make_event(revision)], released=revision)
        assert taken(watchers[0]) == [revision]
    assert (hub.is_spreading, hub.pause_seconds) == (False, 0)
    assert loop.delays == [], "no pause"


async def test_the_pause_follows_what_handing_over_costs() -> None:
    loop = Loop()
    hub = spreading_hub(loop.spread(latest_share=1.0, times=2.0, shortest_seconds=0.01))
    watchers = [live(hub) for _ in range(20)]
    waiting = [watcher.wait() for watcher in watchers]
    hub.publish([make_event(1)], released=1)
    assert hub.pause_seconds == 0.04
    loop.used = 0.2
    loop.run_soon()
    await asyncio.gather(*waiting)
    loop.now = 1.0
    hub.publish([make_event(2)], released=2)
    assert hub.pause_seconds == pytest.approx(0.4)
    # Nobody took it: all still send what they got before, so that this says nothing about the cost.
    loop.run_soon()
    loop.now = 2.0
    hub.publish([make_event(3)], released=3)
    assert hub.pause_seconds == pytest.approx(0.4)


def test_who_waits_for_what_is_kept_is_not_told_that_it_was_forgotten() -> None:
    hub = make_hub()
    ahead, behind = hub.subscribe(Selection(), position=500), hub.subscribe(Selection(), position=90)
    hub.close(errors.Compacted(90, 100))
    with pytest.raises(errors.Unavailable):
        ahead.check()
    with pytest.raises(errors.Compacted):
        behind.check()


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        (errors.Compacted(90, 100), "events below revision 100 were forgotten before it had read them; try again"),
        (errors.OtherHistory("another", history_id="i"), "the database is another one than before, or .*; try again"),
    ],
)
def test_who_comes_while_the_server_begins_anew_is_told_why_and_to_try_again(reason: Exception, why: str) -> None:
    hub = make_hub()
    hub.close(reason)
    with pytest.raises(errors.Unavailable, match=why):
        hub.subscribe(Selection(), position=500)
    hub.open(history_id="i", last=499)
    hub.subscribe(Selection(), position=500)
