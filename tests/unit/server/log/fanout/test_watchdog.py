"""Who is reminded, and who is ended for being too slow."""

import asyncio
import contextlib

import pytest

from support.log_event import make_event
from support.log_hub import (
    HangingTable,
    delivering,
    live,
    make_hub,
    taken,
)
from support.log_table import Table
from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.watchdog import Patience, Sweep


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
        # The second piece is read while the first is encoded, and then sent.
        await eventually(lambda: table.reads == 2 and subscriber.sending_since is not None)
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
