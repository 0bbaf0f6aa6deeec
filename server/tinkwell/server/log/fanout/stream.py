"""Serves one watcher: sends kept events, then live ones, in revision order, with bookmarks in between."""

import asyncio
import functools
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from tinkwell.core import errors
from tinkwell.core.event.page import Replay, SourceLost
from tinkwell.server.log import source
from tinkwell.server.log.fanout.group import MAX_BYTES, Respond
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.page_cache import Holding, Shelf
from tinkwell.server.log.fanout.subscriber import Subscriber
from tinkwell.server.log.fanout.table_page import EncodeRows, Piece, Portion

T = TypeVar("T")

# Limits of a piece of the table. Pieces are larger than batches, since each takes several statements. The bytes are
# those of the events' data; a piece also holds its events encoded.
_MAX_ROWS = 4_000
_MAX_PIECE_BYTES = 2 << 20
# A watcher that reads the table holds up to two pieces. All pieces together may have about this size, so the more of
# them there are, the smaller each one is.
_ALL_PIECES_BYTES = 32 << 20
_MIN_PIECE_BYTES = 16 << 10
_TABLE_TRIES = 6
_FIRST_PAUSE_SECONDS = 0.1

Write = Callable[[bytes], Awaitable[None]]


class Streams:
    """Serves the watchers of one hub. At most `table_readers` of them read the table at the same time."""

    def __init__(
        self,
        hub: Hub,
        log: source.Source,
        *,
        encode_rows: EncodeRows,
        respond: Respond,
        table_readers: int,
        max_rows: int = _MAX_ROWS,
        first_pause_seconds: float = _FIRST_PAUSE_SECONDS,
        make_piece: Callable[[int, Replay], Piece] = Piece,
    ) -> None:
        self._hub = hub
        self._log = log
        self._encode_rows = encode_rows
        self._respond = respond
        self._max_rows = max_rows
        self._first_pause_seconds = first_pause_seconds
        self._make_piece = make_piece
        self._turn = asyncio.Semaphore(table_readers)
        self._shelf = Shelf()

    async def deliver(self, subscriber: Subscriber, write: Write, *, greeting: bytes) -> None:
        """Write the greeting, and then response after response, until the subscriber ends.

        Raises the reason for which it ended, `errors.Compacted` if the events at its position are no longer kept, and
        what `write` raises.
        """
        try:
            async with asyncio.timeout(None) as subscriber.limit:
                await self._send(subscriber, write, greeting, 0, subscriber.position - 1)
                # The usual path awaits `write` and `wait` right here, not in methods: each coroutine in between would
                # cost time for every response to every watcher.
                while True:
                    if due := self._take(subscriber):
                        response, count, bookmark = due
                        subscriber.sending_since = subscriber.loop.time()
                        await write(response)
                        self._sent(subscriber, count, bookmark)
                    elif subscriber.is_live:
                        await subscriber.wait()
                    else:
                        await self._catch_up(subscriber, write)
        except TimeoutError:
            # `Subscriber.cut_off` has interrupted this; `check` raises the reason.
            subscriber.check()
            raise
        finally:
            subscriber.limit = None

    def _take(self, subscriber: Subscriber) -> tuple[bytes, int, int] | None:
        """Return the next response, its number of events, and its bookmark; None if nothing is to be sent."""
        batches = subscriber.take(max_bytes=MAX_BYTES)
        if len(batches) == 1:
            batch = batches[0]
            return batch.response(self._respond, subscriber.history_id), len(batch.entries), batch.revision
        if batches:
            # Encoded responses that are joined are one response, in which the last bookmark counts.
            response = b"".join([batch.response(self._respond, subscriber.history_id) for batch in batches])
            return response, sum(len(batch.entries) for batch in batches), batches[-1].revision
        if subscriber.is_live and (bookmark := subscriber.take_bookmark()) is not None:
            return self._respond((), bookmark, subscriber.history_id), 0, bookmark
        return None

    async def _send(self, subscriber: Subscriber, write: Write, response: bytes, count: int, bookmark: int) -> None:
        subscriber.sending_since = subscriber.loop.time()
        await write(response)
        self._sent(subscriber, count, bookmark)

    def _sent(self, subscriber: Subscriber, count: int, bookmark: int) -> None:
        subscriber.sending_since = None
        subscriber.told_at = subscriber.loop.time()
        subscriber.told_revision = bookmark
        self._hub.counts.responses += 1
        self._hub.counts.events += count

    async def _catch_up(self, subscriber: Subscriber, write: Write) -> None:
        excerpt = self._hub.catch_up(subscriber)
        if excerpt is None:
            await self._replay(subscriber, write)
            return
        response = self._respond([entry.encoded for entry in excerpt.entries], excerpt.revision, subscriber.history_id)
        await self._send(subscriber, write, response, len(excerpt.entries), excerpt.revision)
        # Reading the ring takes some time, and `write` need not have waited: let other tasks run.
        await asyncio.sleep(0)

    async def _replay(self, subscriber: Subscriber, write: Write) -> None:
        """Send events from the table until the ring holds the next one. Read a piece while the one before is sent."""
        with self._shelf.holding() as holding:
            piece = await self._take_piece(subscriber, holding)
            while True:
                # The piece may belong to another history, which began while it was read.
                subscriber.check()
                position, subscriber.position = subscriber.position, piece.revision + 1
                sending = self._send_piece(subscriber, write, piece, position)
                if self._hub.holds(subscriber.position):
                    await sending
                    return
                piece = await _beside(sending, self._take_piece(subscriber, holding))
                holding.keep_last()

    async def _send_piece(self, subscriber: Subscriber, write: Write, piece: Piece, position: int) -> None:
        """Send the events of a piece from the position on. Each response has its last revision as its bookmark."""
        for portion in piece.portions(position):
            if portion.count or subscriber.told_revision < portion.revision:
                response = await self._response(portion, subscriber.history_id)
                await self._send(subscriber, write, response, portion.count, portion.revision)

    async def _response(self, portion: Portion, history_id: str) -> bytes:
        while True:
            response = portion.encode(self._encode_rows, self._respond, history_id)
            if response is not None:
                return response
            await asyncio.sleep(0)

    async def _take_piece(self, subscriber: Subscriber, holding: Holding) -> Piece:
        key = subscriber.history_id, subscriber.selection
        return await holding.take(key, subscriber.position, functools.partial(self._read_table, subscriber))

    async def _read_table(self, subscriber: Subscriber) -> Piece:
        first = subscriber.position
        async with self._turn:
            for attempt in range(_TABLE_TRIES):
                subscriber.check()
                try:
                    replay = await self._log.replay(
                        history_id=subscriber.history_id,
                        first=first,
                        last=self._hub.released,
                        selection=subscriber.selection,
                        max_count=self._max_rows,
                        max_bytes=max(_MIN_PIECE_BYTES, min(_MAX_PIECE_BYTES, _ALL_PIECES_BYTES // self._shelf.count)),
                    )
                except SourceLost:
                    await asyncio.sleep(random.uniform(0, self._first_pause_seconds * 2**attempt))  # noqa: S311
                else:
                    self._hub.counts.table_reads += 1
                    return self._make_piece(first, replay)
        raise errors.Unavailable("the event log does not answer; try again")


async def _beside(work: Coroutine[Any, Any, None], question: Coroutine[Any, Any, T]) -> T:
    """Run the work and the question at the same time, and return the answer. Raises what either of them raises."""
    try:
        async with asyncio.TaskGroup() as tasks:
            answer = tasks.create_task(question, name="read ahead")
            # Let the question begin before the work, so that the database reads while this task encodes and sends.
            await asyncio.sleep(0)
            await work
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        # If the task is cancelled before the work has begun, Python would warn about a coroutine that nobody awaited.
        work.close()
    return answer.result()
