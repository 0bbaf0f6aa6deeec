"""A hub over a scripted table and transport, for tests of what watchers receive."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from support.log_table import Table, encode_event, encode_rows, parse, respond
from tinkwell.core.event.page import Replay
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.stream import Streams
from tinkwell.server.log.fanout.subscriber import Subscriber
from tinkwell.server.log.fanout.table_page import Piece

ALL = 1 << 20
GREETING = b"created"


def make_hub(
    *,
    ring_bytes: int = 1 << 20,
    subscriber_bytes: int = 1 << 20,
    max_subscribers: int = 1_000,
) -> Hub:
    """Make a hub that is open, with nothing released."""
    hub = Hub(
        encode=encode_event,
        ring_bytes=ring_bytes,
        subscriber_bytes=subscriber_bytes,
        max_subscribers=max_subscribers,
    )
    hub.open(history_id="h", last=0)
    return hub


def make_streams(
    hub: Hub,
    table: Table,
    *,
    max_rows: int = 4_000,
    first_pause_seconds: float = 0.1,
    make_piece: Callable[[int, Replay], Piece] = Piece,
) -> Streams:
    """Make streams that read the table two at a time."""
    return Streams(
        hub,
        table,
        encode_rows=encode_rows,
        respond=respond,
        table_readers=2,
        max_rows=max_rows,
        first_pause_seconds=first_pause_seconds,
        make_piece=make_piece,
    )


def live(hub: Hub, selection: Selection | None = None) -> Subscriber:
    """Add a watcher that has everything and goes on live."""
    subscriber = hub.subscribe(selection or Selection(), position=hub.released + 1)
    hub.catch_up(subscriber)
    assert subscriber.is_live
    return subscriber


def taken(subscriber: Subscriber) -> list[int]:
    """Take all that is due, and return the revisions."""
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
    hub: Hub,
    table: Table,
    *,
    position: int = 1,
    selection: Selection | None = None,
    streams: Streams | None = None,
) -> AsyncIterator[tuple[Transport, Subscriber, "asyncio.Task[None]"]]:
    """Serve a new watcher until the block ends; yields what it is served over, itself, and the task that serves it."""
    subscriber, transport = hub.subscribe(selection or Selection(), position=position), Transport()
    streams = streams or make_streams(hub, table)
    task = asyncio.create_task(streams.deliver(subscriber, transport.write, greeting=GREETING))
    try:
        yield transport, subscriber, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        subscriber.close()


async def outcome(hub: Hub, table: Table, *, position: int = 1) -> None:
    """Serve a watcher that takes everything, until it ends."""
    subscriber = hub.subscribe(Selection(), position=position)
    async with asyncio.timeout(10):
        await make_streams(hub, table).deliver(subscriber, Transport().write, greeting=GREETING)
