"""One watcher's place in the log.

    ┌────────┐  caught up   ┌──────┐
    │ behind │─────────────▶│ live │──┐ takes the batches of its group
    └────────┘◀─────────────└──────┘◀─┘
        │       was overtaken   │
        └───────────┬───────────┘
                    ▼
                  ended: the hub was closed, or the watcher was too slow

A watcher holds nothing: live, it is a cursor in the batches of its group; behind, it is a position in the log, from
which it reads on in the ring or else in the table. So one that stands still costs what is being sent to it, no more.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.group import Batch, Group

_NOTHING: Sequence[Batch] = ()


class Subscriber:
    """Made by `Hub.subscribe`, and closed by whoever asked for it.

    `position` of a watcher that is not live is the first revision, of the history `history_id`, that it has not taken.
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
        # Where it is live, and the number of the batch there that it takes next.
        self.group: Group[Subscriber] | None = None
        self.cursor = 0
        # From then on it is its own fault to be behind.
        self.was_live = False
        # When the response that the transport has not taken yet was handed to it, by the loop's clock.
        self.sending_since: float | None = None
        # When the latest response was sent, and the bookmark in it.
        self.told_at = 0.0
        self.told_revision = -1
        # Interrupts whoever serves the watcher, even where it waits for the transport.
        self.limit: asyncio.Timeout | None = None
        # Nothing more is to be done about it: it was closed, or its server was interrupted, which may take a while.
        self.is_let_go = False
        # Gives the revision up to which all events are in the batches of the groups.
        self._flushed = flushed
        # Makes the hub forget the watcher; may be called twice.
        self._unsubscribe = unsubscribe
        # Of a watcher that ended: what it had been due before.
        self._rest: deque[Batch] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_reminded = False
        self._end: Exception | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that serves the watcher; to ask Python for it takes a system call each time."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    @property
    def is_live(self) -> bool:
        """Whether its group puts aside what it selected."""
        return self.group is not None

    @property
    def has_ended(self) -> bool:
        """Whether it takes the rest of what it is due, and then no more."""
        return self._end is not None

    @property
    def is_waiting(self) -> bool:
        """Whether it has nothing to do."""
        return self._waiter is not None and not self._waiter.done()

    @property
    def reached(self) -> int:
        """The revision up to which it has everything, if it has taken what is due."""
        return self._flushed() if self.group is not None else self.position - 1

    def take(self, *, max_bytes: int) -> Sequence[Batch]:
        """Take what is due; nothing when there is nothing. Raises the reason when the stream has ended."""
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
        """Return the revision up to which a watcher that had nothing to take has everything, if it is to be told."""
        if not self._is_reminded:
            return None
        self._is_reminded = False
        return self.reached

    def remind(self) -> None:
        """Let a waiting watcher be told how far the log is."""
        self._is_reminded = True
        self.wake()

    def wake(self) -> None:
        """Let a waiting watcher look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def wait(self) -> "asyncio.Future[None]":
        """Return what is to be awaited: it ends when something may have changed."""
        self._waiter = self.loop.create_future()
        return self._waiter

    def end(self, reason: Exception, *, rest: list[Batch]) -> None:
        """End the stream with the reason, once it has taken the rest."""
        self._end = self._end or reason
        self._rest.extend(rest)
        self.wake()

    def cut_off(self) -> None:
        """Interrupt whoever serves the ended watcher, even where it waits for the transport. Once is enough."""
        self.is_let_go = True
        if self.limit is not None:
            self.limit.reschedule(self.loop.time())

    def check(self) -> None:
        """Raise the reason when the stream has ended."""
        if self._end is not None:
            # One reason ends many streams; without this it would collect the frames of all of them.
            raise self._end.with_traceback(None)

    def close(self) -> None:
        """Leave the hub."""
        self.is_let_go = True
        self._unsubscribe(self)
        self._rest.clear()
