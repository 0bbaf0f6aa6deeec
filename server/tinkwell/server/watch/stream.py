"""What one watcher receives, in order: events that were kept, then live ones, and bookmarks in between."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable

from tinkwell.core import errors
from tinkwell.core.event import Event
from tinkwell.core.log import Replay, SourceLost
from tinkwell.server.watch import source
from tinkwell.server.watch.history import Entry, Excerpt
from tinkwell.server.watch.hub import Hub
from tinkwell.server.watch.subscriber import Subscriber

# A response stays far below the 16 MiB that clients accept, and small against what the transport buffers anyway.
_MAX_COUNT = 500
_MAX_BYTES = 1 << 20
_IDLE_SECONDS = 5.0
_TABLE_TRIES = 6
_FIRST_PAUSE_SECONDS = 0.1


class Streams:
    """Makes streams over one hub. `table_readers` bounds how many watchers read the table at the same time."""

    def __init__(
        self,
        hub: Hub,
        log: source.Source,
        *,
        encode: Callable[[Event], bytes],
        table_readers: int,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._hub = hub
        self._log = log
        self._encode = encode
        self._turn = asyncio.Semaphore(table_readers)
        self._idle_seconds = idle_seconds

    async def follow(self, subscriber: Subscriber) -> AsyncGenerator[Excerpt, None]:
        """Yield what the subscriber is due, until it ends.

        Raises the reason that the hub ended it with, or `errors.Compacted` when it is so far behind that its position
        is no longer kept.
        """
        while True:
            excerpt = subscriber.take(max_count=_MAX_COUNT, max_bytes=_MAX_BYTES)
            if excerpt is not None:
                yield excerpt
            elif not subscriber.is_live:
                yield await self._catch_up(subscriber)
            elif not await subscriber.wait(self._idle_seconds) and subscriber.is_live:
                yield Excerpt((), self._hub.released)

    async def _catch_up(self, subscriber: Subscriber) -> Excerpt:
        excerpt = self._hub.catch_up(subscriber, max_count=_MAX_COUNT, max_bytes=_MAX_BYTES)
        if excerpt is not None:
            # Looking through the ring takes a while and waits for nothing: let the reader and the others go on.
            await asyncio.sleep(0)
            return excerpt
        async with self._turn:
            replay = await self._read_table(subscriber)
        # What was read may belong to a history that began meanwhile.
        subscriber.check()
        self._hub.advance(subscriber, replay.revision)
        return Excerpt([Entry(event, self._encode) for event in replay.events], replay.revision)

    async def _read_table(self, subscriber: Subscriber) -> Replay:
        for attempt in range(_TABLE_TRIES):
            subscriber.check()
            try:
                return await self._log.replay(
                    history_id=subscriber.history_id,
                    first=subscriber.position,
                    last=self._hub.released,
                    selection=subscriber.selection,
                    max_count=_MAX_COUNT,
                    max_bytes=_MAX_BYTES,
                )
            except SourceLost:
                await asyncio.sleep(random.uniform(0, _FIRST_PAUSE_SECONDS * 2**attempt))  # noqa: S311
        raise errors.Unavailable("the event log does not answer; try again")
