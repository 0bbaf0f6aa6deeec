"""The interfaces of the log and of the doorbell. `tinkwell.server.log.store` implements them; tests have fakes."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from tinkwell.core.event.event import Event
from tinkwell.core.event.holder import Holder
from tinkwell.core.event.page import History, Page, Replay
from tinkwell.core.event.selection import Selection


class Bell(Protocol):
    """The doorbell: a reader that holds it may sleep, because the next writer rings.

    `is_rung` stays true until `clear`. It is also true when a connection that the bell needs is lost, so that no reader
    sleeps on a bell that cannot ring.
    """

    @property
    def is_rung(self) -> bool: ...

    def clear(self) -> None:
        """Forget past rings. Call this before the last poll before a sleep, never after it."""

    async def request(self) -> bool:
        """Make every writer ring from now on. Return False if that cannot be had, because one is writing silently now.

        Raises `SourceLost` if a connection that the bell needs is lost.
        """

    async def wait(self, timeout_seconds: float, hear: Callable[[Event], bool]) -> bool:
        """Wait for rings. Return True once the log must be read, False after the timeout or if `hear` returned False.

        If a ring brings its event, `hear` gets the event at once; the wait ends only if `hear` returns False. Events
        that have come since the bell was cleared are given first. `hear` gets events in the order of their rings, and
        all of them are committed.
        """

    async def release(self) -> None:
        """Let writers be silent again unless another reader holds the bell, and forget past rings.

        A reader that hears rings may call this without holding the bell. Raises `SourceLost` as `request` does.
        """


class Session(Protocol):
    """A reader's session. The statements of a method run one by one, each with a snapshot of its own.

    Methods raise `SourceLost` if the connection is lost.
    """

    async def history(self, *, seen: int, known: str) -> History:
        """Return the log's history; a new one if `seen`, a revision of the history `known`, was never drawn."""

    async def verify(
        self, *, known: str, delivered: Sequence[tuple[int, str]], dead: Sequence[tuple[int, int]]
    ) -> bool:
        """Return whether the log still has the delivered events (revision and id), and no event in the dead ranges.

        If not, and the log's history is `known`, the log gets a new history. Raises `SourceLost`, with what to do, if
        the log was changed in a way that would lose events.
        """

    async def last_revision(self) -> int:
        """Return the highest revision that is visible as a row; 0 if there is none."""

    async def last_drawn(self) -> int:
        """Return the highest revision that was drawn, committed or not."""

    async def oldest_revision(self) -> int:
        """Return the first revision that has not been forgotten."""

    async def page(self, *, gaps: Sequence[tuple[int, int]], tail: int | None) -> Page:
        """Read the events in the gaps (inclusive ranges), and those above the tail unless it is None."""

    async def holders(self) -> frozenset[str]:
        """Return the transactions that may have drawn a revision and have not ended."""

    async def who(self, transactions: frozenset[str]) -> Sequence[Holder]:
        """Describe transactions that `holders` returned to people; leave out those that have ended."""

    async def waiting(self) -> int:
        """Return how many transactions wait to commit until another one, which has rung, has committed."""

    @property
    def bell(self) -> Bell: ...


class Source(Protocol):
    """The log."""

    def session(self) -> AbstractAsyncContextManager[Session]:
        """Open the connections that one reader needs."""

    async def replay(
        self, *, history_id: str, first: int, last: int, selection: Selection, max_count: int, max_bytes: int
    ) -> Replay:
        """Read selected events from revision `first` to at most `last`, up to the limits, for a watcher that is behind.

        The first event may be larger than `max_bytes`. Raises `errors.Compacted`; and `errors.OtherHistory` if the log
        has another history.
        """

    async def first_revision_since(self, seconds: float) -> int:
        """Return the first revision that was drawn in the last `seconds`; the one after the last if there is none."""

    async def last_drawn(self) -> int:
        """Return the highest revision that was drawn, committed or not."""

    async def history(self) -> History:
        """Return the log's history."""
