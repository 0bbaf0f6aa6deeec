"""Mistakes in what order the tail gives; each is the tail as somebody might have it instead."""

from tinkwell.core.event.event import Event
from tinkwell.core.event.page import Page
from tinkwell.server.log.read.order import Tail
from tinkwell.server.log.read.state_machine import Cycle


class Plain(Tail):
    """Everything above the last one seen."""

    def observe(self, page: Page) -> list[Event]:
        new = [event for event in page.events if event.revision > self.tail]
        if new:
            self.tail = new[-1].revision
            self.next = self.tail + 1
        return new


class OneForAll(Tail):
    """Later gaps take the holders of earlier ones for theirs."""

    def observe_holders(self, holders: frozenset[str]) -> None:
        known = next((span.holders for span in self._spans if span.holders is not None), holders)
        for span in self._spans:
            span.holders = known & holders


class NeverReads(Tail):
    """A gap is dead as soon as nobody can close it any more, without looking whether somebody has."""

    def observe_holders(self, holders: frozenset[str]) -> None:
        super().observe_holders(holders)
        self._gaps = [gap for gap in self._gaps if not self._spans[self._place_of(gap)].is_abandoned]


class TrustsCutPages(Tail):
    """What a page does not show is missing, even above its end."""

    def observe(self, page: Page) -> list[Event]:
        return super().observe(Page(page.events, is_cut=False))


class OneByOne(Tail):
    """A page is asked about one gap: slower at worst."""

    few_gaps = many_gaps = 1


class TrustsPagesBeyond(OneByOne):
    """What a page does not show is missing, even where it was not asked about it."""

    def _close(self, page: Page, *, asked: int) -> None:
        super()._close(page, asked=len(self._gaps))


class BelievesTellers(Tail):
    """What is told of comes in order, so nothing is missing below it."""

    def tell(self, event: Event) -> list[Event]:
        if event.revision <= self.tail:
            return []
        self.tail = event.revision
        self.next = self.tail + 1
        return [event]


class TakesTalesForPages(Tail):
    """What a ring does not tell of is missing, as what a page does not show."""

    def tell(self, event: Event) -> list[Event]:
        return self.observe(Page([event], is_cut=False))


class RepeatsTales(Tail):
    """An event that was told of is new, though a page may have shown it."""

    def tell(self, event: Event) -> list[Event]:
        return super().tell(event) or [event]


class KeepsHolders(Tail):
    """Holders are kept when the connection is lost that they were read over: slower at worst."""

    def forget_holders(self) -> None:
        pass


def with_tail(tail: type[Tail]) -> type[Cycle]:
    """Return a cycle that uses another tail."""

    class WithTail(Cycle):
        def _start_at(self, last: int) -> None:
            super()._start_at(last)
            self.tail = tail(last=last, waiting_bytes=self._waiting_bytes)

    return WithTail
