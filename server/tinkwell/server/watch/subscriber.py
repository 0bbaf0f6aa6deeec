"""One watcher's place in the log, and its bounded buffer.

A subscriber is *live* while every selected event is put into its buffer as it is released. When the buffer is full it
falls *behind*: nothing more is put in, and once the watcher has emptied the buffer it reads on by itself, from the ring
or else from the table, until it has caught up and is live again. So a slow watcher costs one buffer and loses nothing.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from tinkwell.core.log import Selection
from tinkwell.server.watch.history import Entry, Excerpt

if TYPE_CHECKING:
    from tinkwell.server.watch.hub import Hub


class Subscriber:
    """Made by `Hub.subscribe`, and closed by whoever asked for it.

    `position` is the first revision, of the history `history_id`, that is neither delivered nor in the buffer. Only the
    hub puts entries in.
    """

    def __init__(self, hub: "Hub", selection: Selection, *, history_id: str, position: int, limit_bytes: int) -> None:
        self.selection = selection
        self.history_id = history_id
        self.position = position
        self.is_live = False
        self._hub = hub
        self._limit = limit_bytes
        self._buffer: deque[Entry] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self._end: Exception | None = None

    def offer(self, entry: Entry) -> bool:
        """Put a live entry into the buffer; False, and nothing is put in, when it is full."""
        if self._buffer and self._bytes + entry.size > self._limit:
            return False
        self._buffer.append(entry)
        self._bytes += entry.size
        self.position = entry.event.revision + 1
        self._changed.set()
        return True

    def wake(self) -> None:
        """Let a waiting watcher look again."""
        self._changed.set()

    def end(self, reason: Exception) -> None:
        """End the stream with the reason, once the buffer is empty."""
        self._end = self._end or reason
        self._changed.set()

    def take(self, *, max_count: int, max_bytes: int) -> Excerpt | None:
        """Take what the buffer holds; None when it is empty. Raises the reason when the stream has ended."""
        taken: list[Entry] = []
        size = 0
        while self._buffer and len(taken) < max_count and (not taken or size + self._buffer[0].size <= max_bytes):
            entry = self._buffer.popleft()
            taken.append(entry)
            size += entry.size
        self._bytes -= size
        if taken:
            # An emptied buffer of a live subscriber proves everything released; otherwise only what was taken is.
            is_drained = self.is_live and not self._buffer
            return Excerpt(taken, self._hub.released if is_drained else taken[-1].event.revision)
        self.check()
        return None

    def check(self) -> None:
        """Raise the reason when the stream has ended."""
        if self._end is not None:
            # One reason ends many streams; without this it would collect the frames of all of them.
            raise self._end.with_traceback(None)

    async def wait(self, timeout_seconds: float) -> bool:
        """Return whether something has changed within the time."""
        if self._buffer or self._end is not None:
            return True
        self._changed.clear()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._changed.wait()
        except TimeoutError:
            # Something may have come in at the very moment at which the time was up.
            return self._changed.is_set()
        return True

    def close(self) -> None:
        """Leave the hub and free the buffer."""
        self._hub.unsubscribe(self)
        self._buffer.clear()
        self._bytes = 0
