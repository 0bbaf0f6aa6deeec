"""The rule that puts events in order: pure, so that every interleaving of it can be explored.

Theory of operation. A revision is drawn when an event is inserted, but its row is seen only after the commit, so rows
appear out of order and some drawn numbers never appear at all. A revision is released when every smaller one has been
released or is known to be dead::

        released            waiting
    ─────────────────┬────────────────────────
    1 2 3 4 5 6 7 8  │  ·  10 11  ·  ·  14          gaps: 9, 12-13
                     next                 tail

A gap is closed by its row, or settled in three steps, each a statement of its own that begins after the one before has
ended:

1. the page that shows a row above it and not the gap's own: the number was drawn before that row's;
2. the holders: transactions that may have drawn a revision and have not ended. Whoever drew the missing number took the
   lock they are known by before it drew and keeps it until it ends: so it is among them, or it has ended. They are kept
   for each gap; only those still there in later readings remain;
3. once none remains, the page read next: whoever drew the number had ended before this statement began, so if it
   committed, the row is there. If it is not there, it was rolled back and never will be: the number is dead.

An event that a writer told of when it had committed counts as seen, as its row would. It says nothing of others: a gap
below it is open until its own event was told of, too, or until pages settle it.
"""

import bisect
import dataclasses
from collections.abc import Iterator, Sequence

from tinkwell.core.event.event import Event
from tinkwell.core.event.page import Page


@dataclasses.dataclass(slots=True)
class Gap:
    """Missing revisions, both ends included, and who may still commit them; None before anybody was asked."""

    first: int
    last: int
    holders: frozenset[str] | None = None
    # Whether a page has been read since the gap was found: most gaps close by themselves before anybody must be asked.
    is_old: bool = False

    @property
    def is_abandoned(self) -> bool:
        """Whether everybody who could have drawn these revisions has ended."""
        return self.holders is not None and not self.holders

    def without(self, revisions: Sequence[int]) -> Iterator["Gap"]:
        """Yield what remains after the revisions, in order and all inside the gap, have turned up."""
        if not revisions:
            yield self
            return
        first = self.first
        for revision in (*revisions, self.last + 1):
            if first < revision:
                yield dataclasses.replace(self, first=first, last=revision - 1)
            first = revision + 1


class Tail:
    """The end of the log as one reader knows it.

    `waiting_bytes` bounds the events that wait above a gap: at the bound the tail stops moving, and only gaps are read.
    """

    def __init__(self, *, last: int, waiting_bytes: int) -> None:
        self.tail = last
        self.next = last + 1
        self._gaps: list[Gap] = []
        self._waiting: list[Event] = []
        self._bytes = 0
        self._limit = waiting_bytes

    @property
    def released(self) -> int:
        """The revision up to which everything has been released or is dead."""
        return self.next - 1

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The missing revisions below the tail, as inclusive ranges."""
        return [(gap.first, gap.last) for gap in self._gaps]

    @property
    def has_gaps(self) -> bool:
        """Whether any revision below the tail is missing."""
        return bool(self._gaps)

    @property
    def oldest_gap(self) -> Gap | None:
        """The gap that everything waits for, if there is one."""
        return self._gaps[0] if self._gaps else None

    @property
    def needs_holders(self) -> bool:
        """Whether a gap is open that outlasted a page and that is not abandoned."""
        return any(gap.is_old and not gap.is_abandoned for gap in self._gaps)

    @property
    def is_settling(self) -> bool:
        """Whether the next page decides about a gap that everybody has abandoned."""
        return any(gap.is_abandoned for gap in self._gaps)

    @property
    def may_advance(self) -> bool:
        """Whether there is room for events above the tail."""
        return self._bytes < self._limit

    def observe(self, page: Page) -> list[Event]:
        """Take a page that was asked for with `gaps` and, if `may_advance`, `tail`; return the events it releases."""
        if not self._gaps and page.events and page.events[-1].revision == self.tail + len(page.events):
            # Nothing is missing and nothing waits, as nearly always.
            self.tail = page.events[-1].revision
            self.next = self.tail + 1
            return list(page.events)
        self._close(page)
        for gap in self._gaps:
            gap.is_old = True
        for event in page.events:
            if event.revision > self.tail:
                self._reach(event)
                self._hold(event)
        return self._release()

    def tell(self, event: Event) -> list[Event]:
        """Take an event that has been committed, by itself; return the events it releases.

        One above the tail may only be told while `may_advance`.
        """
        if event.revision == self.tail + 1 and not self._gaps:
            # Nothing is missing and nothing waits, as nearly always.
            self.tail = event.revision
            self.next = self.tail + 1
            return [event]
        if event.revision > self.tail:
            self._reach(event)
        elif not self._fill(event.revision):
            return []
        self._hold(event)
        return self._release()

    def observe_holders(self, holders: frozenset[str]) -> None:
        """Take the holders, read after the page that was observed last."""
        for gap in self._gaps:
            if gap.is_old:
                gap.holders = holders if gap.holders is None else gap.holders & holders

    def forget_holders(self) -> None:
        """Ask again about every gap: what was known came over a connection that is gone."""
        for gap in self._gaps:
            gap.holders = None

    def _close(self, page: Page) -> None:
        found = [event for event in page.events if event.revision <= self.tail]
        revisions = [event.revision for event in found]
        # A page that was cut says nothing of what lies beyond, and after a large transaction that is nearly all.
        end = bisect.bisect_right(self._gaps, page.covers, key=lambda gap: gap.first)
        remaining: list[Gap] = []
        for gap in self._gaps[:end]:
            inside = revisions[bisect.bisect_left(revisions, gap.first) : bisect.bisect_right(revisions, gap.last)]
            # An abandoned gap is dead as far as the page could see.
            remaining.extend(
                rest for rest in gap.without(inside) if not (rest.is_abandoned and rest.last <= page.covers)
            )
        self._gaps[:end] = remaining
        for event in found:
            self._hold(event)

    def _reach(self, event: Event) -> None:
        if event.revision > self.tail + 1:
            self._gaps.append(Gap(self.tail + 1, event.revision - 1))
        self.tail = event.revision

    def _fill(self, revision: int) -> bool:
        """Take the revision out of its gap; False when it is in none, since it has been seen."""
        for place, gap in enumerate(self._gaps):
            if gap.first <= revision <= gap.last:
                self._gaps[place : place + 1] = gap.without([revision])
                return True
        return False

    def _hold(self, event: Event) -> None:
        bisect.insort(self._waiting, event, key=lambda waiting: waiting.revision)
        self._bytes += event.memory_bytes

    def _release(self) -> list[Event]:
        self.next = self._gaps[0].first if self._gaps else self.tail + 1
        count = bisect.bisect_left(self._waiting, self.next, key=lambda waiting: waiting.revision)
        released, self._waiting = self._waiting[:count], self._waiting[count:]
        self._bytes -= sum(event.memory_bytes for event in released)
        return released
