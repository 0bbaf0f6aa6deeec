"""Readers' cycles as numbered states: the real code runs once for each state and result, then it is looked up."""

import copy
import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from tinkwell.core.event.event import Event
from tinkwell.core.event.page import Page, SourceLost
from tinkwell.server.log.read.order import Span, Tail
from tinkwell.server.log.read.state_machine import Cycle, HistoryEnded

# A reader whose watchers were told that their events are gone.
ENDED = -1


class Told(NamedTuple):
    """What a cycle makes of a result: the number of its next state, and the revisions it releases."""

    number: int
    released: tuple[int, ...] = ()
    is_lost: bool = False


class Machines:
    """Every state of a cycle that was reached."""

    def __init__(self, make: Callable[[], Cycle]) -> None:
        self.cycles: list[Cycle] = []
        self._numbers: dict[object, int] = {}
        self._told: dict[object, Told] = {}
        self.first = self._intern(make())

    def tell(self, number: int, method: str, *values: object, **named: object) -> Told:
        """Call the method of a copy of the numbered cycle."""
        key = (number, method, values, *named.values())
        if key not in self._told:
            self._told[key] = self._run(number, method, values, named)
        return self._told[key]

    def tell_page(self, number: int, revisions: tuple[int, ...], page: Page) -> Told:
        """Tell a page, which the revisions identify."""
        key = (number, "observe", revisions, page.is_cut)
        if key not in self._told:
            self._told[key] = self._run(number, "observe", (page,), {})
        return self._told[key]

    def tell_event(self, number: int, event: Event) -> Told:
        """Tell of one event."""
        key = (number, "told", event.revision)
        if key not in self._told:
            self._told[key] = self._run(number, "told", (event,), {})
        return self._told[key]

    def _run(self, number: int, method: str, values: tuple[object, ...], named: dict[str, object]) -> Told:
        cycle = _clone(self.cycles[number])
        assert isinstance(cycle, Cycle)
        try:
            events: list[Event] | None = getattr(cycle, method)(*values, **named)
        except HistoryEnded:
            return Told(ENDED)
        except SourceLost:
            return Told(number, is_lost=True)
        return Told(self._intern(cycle), tuple(event.revision for event in events or ()))

    def _intern(self, cycle: Cycle) -> int:
        key = _freeze(cycle)
        if key not in self._numbers:
            self._numbers[key] = len(self.cycles)
            self.cycles.append(cycle)
        return self._numbers[key]


def _attributes(value: object) -> list[str]:
    if isinstance(value, Span):
        return [field.name for field in dataclasses.fields(value)]
    return sorted(vars(value))


def _clone(value: object) -> object:
    """Copy what a cycle changes in place; the rest may be shared."""
    if isinstance(value, list):
        return [_clone(item) for item in value]
    if not isinstance(value, (Cycle, Tail, Span)):
        return value
    clone = copy.copy(value)
    for name in _attributes(value):
        setattr(clone, name, _clone(getattr(value, name)))
    return clone


def _freeze(value: object) -> object:
    """Return what tells one state from another."""
    if isinstance(value, Event):
        return value.revision
    if isinstance(value, Page):
        return (tuple(event.revision for event in value.events), value.is_cut)
    if isinstance(value, list):
        return tuple(_freeze(item) for item in value)
    if isinstance(value, (Cycle, Tail, Span)):
        return tuple(_freeze(getattr(value, name)) for name in _attributes(value))
    return value
