"""The state of one watcher: where in the log it is.

    ┌────────┐  caught up   ┌──────┐
    │ behind │─────────────▶│ live │──┐ takes the batches of its group
    └────────┘◀─────────────└──────┘◀─┘
        │       fell behind     │
        └───────────┬───────────┘
                    ▼
                  ended: the hub was closed, or the watcher was too slow

A watcher holds no events. While it is live it has a cursor, the number of the next batch of its group. While it is
behind it has a position, the revision from which it reads on in the ring or else in the table. So a watcher whose
client does not read costs only the memory of the response that is being sent to it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.group import Batch, Group

_NOTHING: Sequence[Batch] = ()


class Subscriber:
    """A watcher. `Hub.subscribe` makes it, and the caller of that closes it.

    While it is not live, `position` is the first revision, of the history `history_id`, that it has not taken.
    Only hub and group set `group` and `cursor`; only the stream sets the `sending_` and `told_` fields.
    """

    __slots__ = (
        "_end",
        "_flushed",
        "_is_reminded",
        "_loop",
        "_rest",
        "_unsubscribe",
        "_waiter",
        "cursor",
        "group",
        "history_id",
        "is_let_go",
        "limit",
        "position",
        "selection",
        "sending_since",
        "told_at",
        "told_revision",
        "was_live",
    )

    def __init__(
        self,
        selection: Selection,
        *,
        history_id: str,
        position: int,
        flushed: Callable[[], int],
        unsubscribe: "Callable[[Subscriber], None]",
    ) -> None:
        self.selection = selection
        self.history_id = history_id
        self.position = position
        # Its group while it is live, and the number of the batch that it takes next.
        self.group: Group[Subscriber] | None = None
        self.cursor = 0
        # Whether it was live once. Only then is it ended for being too far behind.
        self.was_live = False
        # Since when, by the loop's clock, it waits for the transport to take a response; None if it does not.
        self.sending_since: float | None = None
        # When the latest response was sent, and the bookmark in it.
        self.told_at = 0.0
        self.told_revision = -1
        # Interrupts the task that serves the watcher, even while that waits for the transport.
        self.limit: asyncio.Timeout | None = None
        # Whether it was closed or cut off, so that the watchdog leaves it alone.
        self.is_let_go = False
        # Returns the revision up to which all events are in the batches of the groups.
        self._flushed = flushed
        self._unsubscribe = unsubscribe
        # The batches that a watcher still takes after it has ended.
        self._rest: deque[Batch] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_reminded = False
        self._end: Exception | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that serves the watcher. It is kept because Python makes a system call to find it."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    @property
    def is_live(self) -> bool:
        """Whether it takes its events from the batches of a group."""
        return self.group is not None

    @property
    def has_ended(self) -> bool:
        """Whether it takes its last batches, and then ends."""
        return self._end is not None

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for something to send."""
        return self._waiter is not None and not self._waiter.done()

    @property
    def reached(self) -> int:
        """The revision up to which it has every event, provided that it has taken all its batches."""
        return self._flushed() if self.group is not None else self.position - 1

    def take(self, *, max_bytes: int) -> Sequence[Batch]:
        """Take the next batches; none if there are none. Raises the reason if the watcher has ended."""
        group = self.group
        if group is not None:
            if self.cursor == group.following:
                return _NOTHING
            taken: Sequence[Batch] = group.take(self.cursor, max_bytes=max_bytes)
            self.cursor += len(taken)
        elif self._rest:
            taken = (self._rest.popleft(),)
        else:
            self.check()
            return _NOTHING
        self._is_reminded = False
        return taken

    def take_bookmark(self) -> int | None:
        """Return the bookmark that is to be sent after `remind`, None without that. It must have no batch to take."""
        if not self._is_reminded:
            return None
        self._is_reminded = False
        return self.reached

    def remind(self) -> None:
        """Let a waiting watcher send a bookmark."""
        self._is_reminded = True
        self.wake()

    def wake(self) -> None:
        """Let a waiting watcher look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def wait(self) -> "asyncio.Future[None]":
        """Return a future that is done when there may be something to send."""
        self._waiter = self.loop.create_future()
        return self._waiter

    def end(self, reason: Exception, *, rest: list[Batch]) -> None:
        """End the watcher with the reason, once it has taken the rest."""
        self._end = self._end or reason
        self._rest.extend(rest)
        self.wake()

    def cut_off(self) -> None:
        """Interrupt the task that serves the ended watcher, even while that waits for the transport."""
        self.is_let_go = True
        if self.limit is not None:
            self.limit.reschedule(self.loop.time())

    def check(self) -> None:
        """Raise the reason if the watcher has ended."""
        if self._end is not None:
            # Many watchers raise the same object: without this, each raise would make its traceback longer.
            raise self._end.with_traceback(None)

    def close(self) -> None:
        """Leave the hub."""
        self.is_let_go = True
        self._unsubscribe(self)
        self._rest.clear()
