"""What the reader needs of the log and of the doorbell. `tinkwell.server.store` provides it; tests provide fakes."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from tinkwell.core.event.event import Event
from tinkwell.core.event.holder import Holder
from tinkwell.core.event.page import History, Page, Replay
from tinkwell.core.event.selection import Selection


class Bell(Protocol):
    """The doorbell: who holds it quiet is woken by the next writer.

    `is_rung` is a state, not an edge: it stays set until cleared, and is set as well when a connection that the bell
    needs is lost, so that nobody sleeps on a bell that cannot ring.
    """

    @property
    def is_rung(self) -> bool: ...

    def clear(self) -> None:
        """Forget past rings; to be called before the last poll, never after it."""

    async def request(self) -> bool:
        """Ask every writer to ring from now on; False when one is writing silently at this moment.

        Raises `SourceLost` when a connection that the bell needs is gone.
        """

    async def wait(self, timeout_seconds: float, hear: Callable[[Event], bool]) -> bool:
        """Return True once the log must be read, False after the time or when told to.

        A ring that tells of its event gives that to `hear`, the very moment it comes, and ends the wait only if that
        returns False. What was told since the bell was cleared comes first. Events come in the order in which they
        were told, each of them committed.
        """

    async def release(self) -> None:
        """Let writers be silent again unless another reader wants them to ring, and forget past rings.

        Also for who is not holding the bell but hears it. Raises `SourceLost` as `request` does.
        """


class Session(Protocol):
    """One connection's view of the log. Each method is one statement with a snapshot of its own.

    Raises `SourceLost` when the connection is gone.
    """

    async def history(self, *, seen: int, known: str) -> History:
        """Return which history this is; a new one if `seen`, a revision of the history `known`, was never drawn."""

    async def verify(
        self, *, known: str, delivered: Sequence[tuple[int, str]], dead: Sequence[tuple[int, int]]
    ) -> bool:
        """Return whether the log still has these events, by revision and id, and none in these ranges of revisions.

        If not, and it has the history `known`, it gets another one. Raises `SourceLost` with what to do when somebody
        has changed the log in a way that would lose events.
        """

    async def last_revision(self) -> int:
        """Return the highest revision that is visible as a row; 0 if there is none."""

    async def last_drawn(self) -> int:
        """Return the highest revision that was drawn, committed or not."""

    async def oldest_revision(self) -> int:
        """Return the first revision that has not been forgotten."""

    async def page(self, *, gaps: Sequence[tuple[int, int]], tail: int | None) -> Page:
        """Read what lies in the gaps (inclusive ranges), and what lies above the tail unless it is None."""

    async def holders(self) -> frozenset[str]:
        """Return the transactions that may have drawn a revision and have not ended."""

    async def who(self, transactions: frozenset[str]) -> Sequence[Holder]:
        """Return whose the transactions are that `holders` returned, for people; without those that have ended."""

    async def waiting(self) -> int:
        """Return how many transactions wait to commit until another one that has rung has done so."""

    @property
    def bell(self) -> Bell: ...


class Source(Protocol):
    """The log."""

    def session(self) -> AbstractAsyncContextManager[Session]:
        """Open the connections that one reader needs."""

    async def replay(
        self, *, history_id: str, first: int, last: int, selection: Selection, max_count: int, max_bytes: int
    ) -> Replay:
        """Read selected events from `first` on, for one watcher that is behind; as far as the limits and `last` allow.

        `max_bytes` holds but for the first event. Raises `errors.Compacted`, and `errors.OtherHistory` when the log is
        another one.
        """

    async def first_revision_since(self, seconds: float) -> int:
        """Return the first revision drawn in the last seconds; the one after the last if there is none."""

    async def last_drawn(self) -> int:
        """Return the highest revision that was drawn, committed or not."""

    async def history(self) -> History:
        """Return which history this is."""
