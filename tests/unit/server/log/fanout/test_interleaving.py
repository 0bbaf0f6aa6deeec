"""Whatever happens in whatever order, each watcher gets what it selected: in order, all of it, and once.

A machine of the real hub, streams and sweep with a transport that takes a response only when the script says so. A
watcher that ends for another reason than its own goes on after the last revision that it received, as clients do.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Sequence
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from support.log_event import IDS, KINDS, make_event
from support.log_table import Table, encode_event, encode_rows, parse, respond
from tinkwell.core import errors
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout import group as batch
from tinkwell.server.log.fanout import page_cache
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.pacing import Spread
from tinkwell.server.log.fanout.stream import Streams
from tinkwell.server.log.fanout.subscriber import Subscriber
from tinkwell.server.log.fanout.table_page import Piece
from tinkwell.server.log.fanout.watchdog import Patience, Sweep

PATIENCE = Patience(stall_seconds=60, lag_revisions=20)
# More turns of the loop than any step takes until it waits for the transport.
TURNS = 12

selections = st.one_of(
    st.just(Selection()),
    st.builds(
        Selection,
        event_types=st.frozensets(st.sampled_from([kind[1] for kind in KINDS]), max_size=2),
        resource_types=st.frozensets(st.sampled_from([kind[0] for kind in KINDS]), max_size=2),
        names=st.frozensets(st.sampled_from([kind[2] for kind in KINDS]), max_size=2),
        resource_id=st.sampled_from(IDS),
    ),
)
kinds = st.tuples(
    st.integers(0, len(KINDS) - 1), st.integers(0, 2), st.integers(0, 2), st.sampled_from([1, 500, 4_000])
)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.lists(kinds, max_size=4), st.integers(0, 3)),
        st.tuples(st.just("accept"), st.just([]), st.integers(0, 9)),
        st.tuples(st.just("sweep"), st.just([]), st.sampled_from([3, 14, 100])),
        st.tuples(st.sampled_from(["tick", "reopen"]), st.just([]), st.just(0)),
        st.tuples(st.sampled_from(["cancel", "join"]), st.just([]), st.integers(0, 9)),
    ),
    max_size=40,
)
Move = tuple[str, list[tuple[int, int, int, int]], int]


class Timers:
    """The loop's timers as the hub sees them: they fire when the script says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[asyncio.TimerHandle] = []

    def call_later(self, delay: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(self.now + delay, callback, (), asyncio.get_running_loop())
        self._waiting.append(handle)
        return handle

    def tick(self) -> None:
        self.now += 10
        waiting, self._waiting = self._waiting, []
        for handle in waiting:
            if not handle.cancelled():
                handle._run()


class Watcher:
    """A client over its calls, one after the other; holds what it receives against what the log says."""

    def __init__(self, machine: "Machine", selection: Selection) -> None:
        self.selection = selection
        self.received: list[int] = []
        self.first = machine.hub.released // 2 + 1
        self.position = self.first
        self.ends: list[errors.TinkwellError] = []
        self._machine = machine
        self._gate: asyncio.Future[None] | None = None
        self.subscriber: Subscriber | None = None
        self.call: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self.subscriber = self._machine.hub.subscribe(self.selection, position=self.position)
        self.call = asyncio.create_task(self._watch(self.subscriber))

    def accept(self) -> None:
        if self._gate is not None and not self._gate.done():
            self._gate.set_result(None)

    async def cancel(self) -> None:
        if self.call is not None:
            self.call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.call

    async def _watch(self, subscriber: Subscriber) -> None:
        try:
            greeting = respond((), self.position - 1, "h")
            await self._machine.streams.deliver(subscriber, self._take, greeting=greeting)
        except errors.TinkwellError as error:
            self.ends.append(error)
        finally:
            subscriber.close()

    async def _take(self, response: bytes) -> None:
        revisions, bookmark = parse(response)
        self.received += revisions
        promised = self._machine.selected(self.selection, first=self.first, last=bookmark)
        assert self.received == promised, "a bookmark says that everything up to it is here, and nothing beyond"
        assert bookmark >= self.position - 1, "bookmarks never go back"
        assert bookmark <= self._machine.hub.released
        self.position = bookmark + 1
        self._gate = asyncio.get_running_loop().create_future()
        await self._gate


class Machine:
    def __init__(self, *, ring_bytes: int, subscriber_bytes: int, few_groups: int, response_bytes: int) -> None:
        # Small enough for a script to reach them.
        make_piece = functools.partial(Piece, part_rows=2, response_bytes=response_bytes)
        self.timers = Timers()
        self.hub = Hub(
            encode=encode_event,
            ring_bytes=ring_bytes,
            subscriber_bytes=subscriber_bytes,
            max_subscribers=100,
            spread=Spread(
                call_soon=lambda callback: asyncio.get_running_loop().call_soon(callback),
                call_later=self.timers.call_later,
                clock=lambda: self.timers.now,
                few_watchers=1,
                watcher_seconds=1.0,
                latest_share=0,
            ),
            few_groups=few_groups,
        )
        self.hub.open(history_id="h", last=0)
        self.table = Table()
        self.streams = Streams(
            self.hub,
            self.table,
            encode_rows=encode_rows,
            respond=respond,
            table_readers=2,
            max_rows=3,
            make_piece=make_piece,
        )
        self.sweep = Sweep(self.hub, PATIENCE)
        self.watchers: list[Watcher] = []

    def selected(self, selection: Selection, *, first: int, last: int) -> list[int]:
        return [e.revision for e in self.table.events if first <= e.revision <= last and selection.matches(e)]

    async def run(self, script: Sequence[Move], chosen: Sequence[Selection]) -> None:
        for selection in chosen:
            self.join(selection)
        await self.settle()
        for move in script:
            await self.step(move, chosen)
            await self.settle()
        while self._is_any_behind():
            self.timers.tick()
            for watcher in self.watchers:
                watcher.accept()
            await self.settle()
        for watcher in self.watchers:
            await watcher.cancel()

    async def step(self, move: Move, chosen: Sequence[Selection]) -> None:
        match move:
            case "publish", kinds, dead:
                self.publish(kinds, dead)
            case "accept", _, number:
                # From a certain number on, everybody.
                chosen_ones = self.watchers[number : number + 1] or self.watchers
                for watcher in chosen_ones:
                    watcher.accept()
            case "sweep", _, seconds:
                now = asyncio.get_running_loop().time() + seconds
                for subscriber in self.hub.subscribers:
                    self.sweep.look_at(subscriber, now=now)
            case "tick", _, _:
                self.timers.tick()
            case "cancel", _, number:
                await self.watchers[number % len(self.watchers)].cancel()
            case "join", _, number:
                self.join(chosen[number % len(chosen)])
            case _:
                last = self.hub.released
                self.hub.close(errors.Unavailable("stopping"))
                self.hub.open(history_id="h", last=last)

    def join(self, selection: Selection) -> None:
        watcher = Watcher(self, selection)
        watcher.begin()
        self.watchers.append(watcher)

    def publish(self, kinds: Sequence[tuple[int, int, int, int]], dead: int) -> None:
        last = self.hub.released
        events = [
            make_event(last + n, kind=kind, resource=resource, parent=parent, data="x" * size)
            for n, (kind, resource, parent, size) in enumerate(kinds, start=1)
        ]
        self.table.events += events
        self.hub.publish(events, released=last + len(events) + dead)

    async def settle(self) -> None:
        """Begin again what ended, and let everybody go on until all wait."""
        for watcher in self.watchers:
            if watcher.call is not None and watcher.call.done():
                if not watcher.call.cancelled():
                    watcher.call.result()
                watcher.begin()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        for subscriber in self.hub.subscribers:
            held = sum(batch.size for batch in subscriber._rest)
            # The last batch is kept whatever its size: here three events of ten kilobytes.
            assert held <= self.hub._subscriber_bytes + 31_000

    def _is_any_behind(self) -> bool:
        last = self.hub.released
        return any(
            watcher.received != self.selected(watcher.selection, first=watcher.first, last=last)
            for watcher in self.watchers
        )


@settings(max_examples=200, deadline=None)
@given(
    moves,
    st.lists(selections, min_size=1, max_size=3),
    st.sampled_from([1, 6_000, 1 << 20]),
    st.sampled_from([1, 9_000, 1 << 20]),
    st.sampled_from([0, 4]),
    st.sampled_from([1, 1 << 20]),
)
def test_every_watcher_gets_what_it_selected_in_order_all_of_it_and_once(
    script: list[Move],
    chosen: list[Selection],
    ring_bytes: int,
    subscriber_bytes: int,
    few_groups: int,
    response_bytes: int,
) -> None:
    machine = Machine(
        ring_bytes=ring_bytes,
        subscriber_bytes=subscriber_bytes,
        few_groups=few_groups,
        response_bytes=response_bytes,
    )
    # Small enough for a script to reach them.
    with (
        mock.patch.object(batch, "MAX_COUNT", 3),
        mock.patch.object(page_cache, "_NEAR_REVISIONS", 3),
    ):
        asyncio.run(machine.run(script, chosen))
    for watcher in machine.watchers:
        wanted = machine.selected(watcher.selection, first=watcher.first, last=machine.hub.released)
        assert watcher.received == wanted
    assert not machine.hub.subscribers
    assert not machine.hub._groups
    assert not machine.hub._index
    assert not machine.hub._pending
    assert not machine.hub._pending_bytes
    assert not machine.streams._shelf.count
