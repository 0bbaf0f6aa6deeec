"""What one watcher is sent, from the ring, the table, and live; `test_interleaving` has the whole."""

import asyncio
import contextlib
import functools
import gc

import pytest

from support.log_event import make_event
from support.log_hub import (
    GREETING,
    delivering,
    make_hub,
    make_streams,
    outcome,
)
from support.log_table import Table
from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.table_page import Piece


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


async def test_the_table_is_read_one_piece_ahead_of_what_is_sent() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(revision) for revision in range(1, 101)]
    hub.publish(table.events, released=100)
    streams = make_streams(hub, table, max_rows=10)
    async with delivering(hub, table, streams=streams) as (transport, _, _):
        transport.is_open.clear()
        await eventually(lambda: len(transport.responses) == 1 and table.reads == 2)
        for _ in range(20):
            await asyncio.sleep(0)
        assert table.reads == 2, "a client that takes nothing is not read for on and on"
        transport.is_open.set()
        await eventually(lambda: transport.revisions == list(range(1, 101)))
    assert hub.counts.table_reads >= 10


async def test_a_piece_of_the_table_is_sent_as_several_responses() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(revision) for revision in range(1, 8)]
    hub.publish(table.events, released=9)
    streams = make_streams(hub, table, make_piece=functools.partial(Piece, part_rows=3, response_bytes=1))
    async with delivering(hub, table, streams=streams) as (transport, _, _):
        # The numbers after the last event are dead.
        await eventually(lambda: transport.responses[:3] == [([1, 2, 3], 3), ([4, 5, 6], 6), ([7], 9)])
    assert table.reads == 1


async def test_large_events_make_smaller_responses() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(revision)._replace(data="x" * 100_000) for revision in range(1, 18)]
    table.events[2] = table.events[2]._replace(data="x" * 600_000)
    hub.publish(table.events, released=17)
    async with delivering(hub, table) as (transport, _, _):
        await eventually(lambda: transport.revisions == list(range(1, 18)))
    sent = [revisions for revisions, _ in transport.responses if revisions]
    assert sent == [[1, 2, 3], [4, 5, 6, 7, 8, 9], [10, 11, 12, 13, 14, 15], [16, 17]]


@pytest.mark.parametrize("turns", range(40))
async def test_a_replay_may_be_cancelled_at_any_moment(turns: int) -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(revision) for revision in range(1, 101)]
    hub.publish(table.events, released=100)
    streams = make_streams(hub, table, max_rows=10)
    async with delivering(hub, table, streams=streams):
        for _ in range(turns):
            await asyncio.sleep(0)
    # Coroutines that nobody has awaited warn when they are forgotten, which fails the test.
    gc.collect()


async def test_a_watcher_behind_the_ring_reads_the_table_again_after_a_failure() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(1), make_event(2)]
    table.failures = 2
    hub.publish(table.events, released=2)
    async with delivering(hub, table) as (transport, _, _):
        await eventually(lambda: transport.revisions == [1, 2])


async def test_a_table_that_stays_away_is_tried_for_all_who_need_the_same() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.failures = 1_000
    hub.publish([make_event(1)], released=1)
    streams = make_streams(hub, table, first_pause_seconds=0.001)
    async with contextlib.AsyncExitStack() as stack:
        tasks = [(await stack.enter_async_context(delivering(hub, table, streams=streams)))[2] for _ in range(50)]
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(end) for end in ends] == [errors.Unavailable] * 50
    assert table.reads == 6


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


async def test_pieces_of_the_table_become_small_where_many_watchers_hold_some() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(revision) for revision in range(1, 3_001)]
    hub.publish(table.events, released=3_000)
    streams = make_streams(hub, table, max_rows=1_000)
    async with contextlib.AsyncExitStack() as stack:
        for number in range(300):
            # Each has a selection of its own, so that they share nothing.
            selection = Selection(names=frozenset({table.events[0].name, f"another.{number}"}))
            transport, _, _ = await stack.enter_async_context(
                delivering(hub, table, selection=selection, streams=streams)
            )
            transport.is_open.clear()
        await eventually(lambda: table.reads >= 600)
        # Together they hold what the few would, had they all pieces of the full size.
        assert table.asked_bytes[0] == 2 << 20
        assert min(table.asked_bytes) * 600 <= 32 << 20


async def test_watchers_that_are_behind_together_read_the_table_once() -> None:
    hub, table = make_hub(ring_bytes=1), Table()
    table.events = [make_event(revision) for revision in range(1, 1_001)]
    hub.publish(table.events, released=1_000)
    streams = make_streams(hub, table, max_rows=100)
    async with contextlib.AsyncExitStack() as stack:
        transports = {
            position: (await stack.enter_async_context(delivering(hub, table, position=position, streams=streams)))[0]
            for position in range(1, 80)
        }
        for position, transport in transports.items():
            await eventually(lambda t=transport, p=position: t.revisions == list(range(p, 1_001)))  # type: ignore[misc]
    # Alone each of them would read ten pieces.
    assert table.reads <= 20
    assert streams._shelf.count == 0
