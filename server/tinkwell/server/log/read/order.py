"""The rule that puts events in order. It does no I/O, so a test can explore every interleaving of readers and writers.

Theory of operation. A revision is drawn when an event is inserted, but its row is seen only after the commit, so rows
appear out of order and some drawn numbers never appear at all. A revision is released when every smaller one has been
released or is known to be dead::

        released            waiting
    ─────────────────┬────────────────────────
    1 2 3 4 5 6 7 8  │  ·  10 11  ·  ·  14          gaps: 9, 12-13
                     next                 tail

A gap is closed by its row, or settled in three steps, each a statement of its own that begins after the one before has
ended:

1. A page shows a row above the gap, and not the row of the gap. So the missing number was drawn before that row's.
2. The holders are read: all transactions that may have drawn a revision and have not ended. A transaction takes a
   certain lock before it draws a number, keeps it until it ends, and is a holder while it has it. So the transaction
   that drew the missing number is a holder, or has ended. The holders are kept for the gap. When they are read again,
   only those that are still there remain.
3. Once none of them remains, the next page is read. The transaction that drew the number had ended before this
   statement began, so if it committed, its row is there. If the row is not there, the transaction was rolled back: the
   number is dead.

An event that came in a ring counts as seen, as its row would, because writers ring after they have committed. It says
nothing about other revisions: a gap below it stays open until its own event comes, or until pages settle it.

While one transaction stays open, every number that is rolled back leaves a gap, since the open transaction may have
drawn it. There may be tens of thousands of gaps, and nothing is released before the oldest one is settled. So a page is
asked only about a few of the oldest gaps. If these have no holder left, it is asked about many, and settles all of
them. The holders are not kept for each gap, but for a span: neighbouring gaps that have the same holders.
"""

import bisect
import dataclasses
import operator
from collections.abc import Iterator, Sequence

from tinkwell.core.event.event import Event
from tinkwell.core.event.page import Page

_first, _last = operator.attrgetter("first"), operator.attrgetter("last")


@dataclasses.dataclass(frozen=True, slots=True)
class Gap:
    """Missing revisions, both ends included."""

    first: int
    last: int

    def without(self, revisions: Sequence[int]) -> Iterator["Gap"]:
        """Yield what remains of the gap when these revisions, in order and all inside the gap, are no longer
        missing."""
        if not revisions:
            yield self
            return
        first = self.first
        for revision in (*revisions, self.last + 1):
            if first < revision:
                yield Gap(first, revision - 1)
            first = revision + 1


@dataclasses.dataclass(slots=True)
class Span:
    """The gaps up to `last` that lie above the span before, and their holders.

    `holders` are the transactions that may still commit the gaps; None before they have been read.
    """

    last: int
    holders: frozenset[str] | None = None
    # Whether a page has been read since the gaps were found. Most gaps close by themselves before that.
    is_old: bool = False

    @property
    def is_abandoned(self) -> bool:
        """Whether every transaction that could have drawn these revisions has ended."""
        return self.holders is not None and not self.holders


class Tail:
    """The end of the log as one reader knows it.

    `waiting_bytes` bounds the events that wait above a gap: at the bound the tail stops moving, and only gaps are read.
    """

    # A page is asked about `few_gaps` gaps: more than running writers usually leave at a time. It is asked about up to
    # `many_gaps` abandoned ones, which PostgreSQL looks up within some hundredths of a second.
    few_gaps = 64
    many_gaps = 1_000

    def __init__(self, *, last: int, waiting_bytes: int) -> None:
        self.tail = last
        self.next = last + 1
        # In order, each gap in one span and each span with a gap in it; neighbouring spans differ.
        self._gaps: list[Gap] = []
        self._spans: list[Span] = []
        self._waiting: list[Event] = []
        self._bytes = 0
        self._limit = waiting_bytes

    @property
    def released(self) -> int:
        """The revision up to which everything has been released or is dead."""
        return self.next - 1

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The missing revisions below the tail for which the next page must look, as inclusive ranges."""
        return [(gap.first, gap.last) for gap in self._gaps[: self._asked]]

    @property
    def has_gaps(self) -> bool:
        """Whether any revision below the tail is missing."""
        return bool(self._gaps)

    @property
    def oldest_gap(self) -> Gap | None:
        """The gap for which delivery waits, if there is one."""
        return self._gaps[0] if self._gaps else None

    @property
    def holders(self) -> frozenset[str]:
        """The transactions that may still commit the oldest gap; empty before they have been read."""
        return (self._spans[0].holders if self._spans else None) or frozenset()

    @property
    def needs_holders(self) -> bool:
        """Whether the holders must be read: a gap is still open after another page, and is not abandoned."""
        return any(span.is_old and not span.is_abandoned for span in self._spans)

    @property
    def is_settling(self) -> bool:
        """Whether the next page settles an abandoned gap."""
        asked = self._gaps[: self._asked]
        return any(span.is_abandoned for span in self._spans[: self._place_of(asked[-1]) + 1]) if asked else False

    @property
    def waiting(self) -> list[tuple[int, str]]:
        """Revision and id of the events that wait above a gap."""
        return [(event.revision, event.id) for event in self._waiting]

    @property
    def may_advance(self) -> bool:
        """Whether there is room for events above the tail."""
        return self._bytes < self._limit

    def observe(self, page: Page) -> list[Event]:
        """Take a page that was read with `gaps` and, if `may_advance`, `tail`; return the events that it releases."""
        if not self._gaps and page.events and page.events[-1].revision == self.tail + len(page.events):
            # The usual case: nothing is missing and nothing waits.
            self.tail = page.events[-1].revision
            self.next = self.tail + 1
            return list(page.events)
        self._close(page, asked=self._asked)
        for span in self._spans:
            span.is_old = True
        self._join()
        for event in page.events:
            if event.revision > self.tail:
                self._reach(event)
                self._hold(event)
        return self._release()

    def tell(self, event: Event) -> list[Event]:
        """Take a single committed event, which came in a ring; return the events that it releases.

        If it is above the tail, `may_advance` must be true.
        """
        if event.revision == self.tail + 1 and not self._gaps:
            # The usual case: nothing is missing and nothing waits.
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
        for span in self._spans:
            if span.is_old:
                span.holders = holders if span.holders is None else span.holders & holders
        self._join()

    def forget_holders(self) -> None:
        """Forget the holders of all gaps, because they were read over a connection that is lost."""
        for span in self._spans:
            span.holders = None
        self._join()

    @property
    def _asked(self) -> int:
        """For how many of the gaps, the oldest first, the next page must look."""
        is_abandoned = bool(self._spans) and self._spans[0].is_abandoned
        abandoned = bisect.bisect_right(self._gaps, self._spans[0].last, key=_last) if is_abandoned else 0
        return min(max(abandoned, self.few_gaps), self.many_gaps)

    def _place_of(self, gap: Gap) -> int:
        return bisect.bisect_left(self._spans, gap.last, key=_last)

    def _close(self, page: Page, *, asked: int) -> None:
        found = [event for event in page.events if event.revision <= self.tail]
        revisions = [event.revision for event in found]
        # A page says nothing about gaps for which it did not look, nor, if it was cut, about those beyond its end.
        # After a large transaction these are nearly all.
        end = min(bisect.bisect_right(self._gaps, page.covers, key=_first), asked)
        remaining: list[Gap] = []
        for gap in self._gaps[:end]:
            inside = revisions[bisect.bisect_left(revisions, gap.first) : bisect.bisect_right(revisions, gap.last)]
            is_abandoned = self._spans[self._place_of(gap)].is_abandoned
            # What is missing of an abandoned gap is dead, up to the end of the page.
            remaining.extend(rest for rest in gap.without(inside) if not (is_abandoned and rest.last <= page.covers))
        self._gaps[:end] = remaining
        for event in found:
            self._hold(event)

    def _join(self) -> None:
        """Merge neighbouring spans that have become equal, and drop spans without a gap."""
        joined: list[Span] = []
        begin = 0
        for span in self._spans:
            end = bisect.bisect_right(self._gaps, span.last, key=_last)
            if joined and (joined[-1].holders, joined[-1].is_old) == (span.holders, span.is_old):
                joined[-1].last = span.last
            elif end > begin:
                joined.append(span)
            begin = end
        self._spans = joined

    def _reach(self, event: Event) -> None:
        if event.revision > self.tail + 1:
            gap = Gap(self.tail + 1, event.revision - 1)
            self._gaps.append(gap)
            if self._spans and not self._spans[-1].is_old:
                self._spans[-1].last = gap.last
            else:
                self._spans.append(Span(gap.last))
        self.tail = event.revision

    def _fill(self, revision: int) -> bool:
        """Remove the revision from its gap. Return False if it is in no gap, because it has been seen before."""
        place = bisect.bisect_left(self._gaps, revision, key=_last)
        if place == len(self._gaps) or revision < self._gaps[place].first:
            return False
        self._gaps[place : place + 1] = self._gaps[place].without([revision])
        self._join()
        return True

    def _hold(self, event: Event) -> None:
        bisect.insort(self._waiting, event, key=lambda waiting: waiting.revision)
        self._bytes += event.memory_bytes

    def _release(self) -> list[Event]:
        self.next = self._gaps[0].first if self._gaps else self.tail + 1
        count = bisect.bisect_left(self._waiting, self.next, key=lambda waiting: waiting.revision)
        released, self._waiting = self._waiting[:count], self._waiting[count:]
        self._bytes -= sum(event.memory_bytes for event in released)
        return released
