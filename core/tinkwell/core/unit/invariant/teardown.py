"""I28 to I30 and I37: how a unit ends."""

from collections.abc import Iterator, Sequence

from tinkwell.core.unit.invariant.history import NEVER, History, Told, UnitHistory
from tinkwell.core.unit.invariant.violation import Violation, of
from tinkwell.core.unit.kinds import EventKind, EventState

_K = EventKind
_DEPARTED, _BROKEN = _K.RELATION_DEPARTED, _K.RELATION_BROKEN


def teardown(unit: UnitHistory) -> Sequence[Told]:
    """Return the events that a unit was granted after its removal was asked for, without the forced followers."""
    return [told for told in unit.stream if told.first_granted > unit.dying and not told.is_forced]


def _place(told: Told) -> tuple[int, bool]:
    if told.kind in (_DEPARTED, _BROKEN):
        return 0, told.record.is_peer
    return {_K.STORAGE_DETACHING: 1, _K.STOP: 2, _K.REMOVE: 3}.get(told.kind, 4), False


def teardown_is_in_order(history: History) -> Iterator[Violation]:
    """I28: the teardown's order is relations (peers last), storage, `stop`, `remove`."""
    for unit in history.units:
        last = (0, False)
        number = 0
        done: set[int] = set()
        for told in teardown(unit):
            place = _place(told)
            if place < last:
                yield of("I28", unit, told, "it came after an event that it must precede")
            last = max(last, place)
            if not told.relation:
                continue
            if told.relation != number:
                done.add(number)
                number = told.relation
            if number in done:
                yield of("I28", unit, told, f"another relation came between this and the rest of relation {number}")


def stop_if_started(history: History) -> Iterator[Violation]:
    """I29: `stop` comes once to a unit that had started, and to no other unit."""
    for unit in history.units:
        stops = [told for told in unit.stream if told.kind is _K.STOP]
        for told in stops[1:] if unit.started < NEVER else stops:
            yield of("I29", unit, told, "it came before" if unit.started < NEVER else "the unit had not started")
        if not stops and unit.started < NEVER and _has_ended(unit):
            yield Violation("I29", unit.name, unit.gone, "it had started, and ended without stop")


def remove_if_installed(history: History) -> Iterator[Violation]:
    """I30: `remove` comes once, last, to a unit that was installed, and to no other unit."""
    for unit in history.units:
        removes = [index for index, told in enumerate(unit.stream) if told.kind is _K.REMOVE]
        is_installed = unit.first(_K.INSTALL) is not None
        for index in removes:
            if not is_installed:
                yield of("I30", unit, unit.stream[index], "the unit was not installed")
            if index != len(unit.stream) - 1:
                yield of("I30", unit, unit.stream[index], f"{unit.stream[index + 1].record.name} came after it")
        if not removes and is_installed and _has_ended(unit):
            yield Violation("I30", unit.name, unit.gone, "it was installed, and ended without remove")


def _has_ended(unit: UnitHistory) -> bool:
    return unit.gone < unit.forced


def only_teardown_after_dying(history: History) -> Iterator[Violation]:
    """I29 and I30: once its removal was asked for, a unit is granted only teardown events."""
    for unit in history.units:
        for told in teardown(unit):
            if not told.kind.is_teardown:
                yield of("I30", unit, told, "it was granted after the removal was asked for")
        for told in unit.stream:
            if told.kind in (_K.STOP, _K.REMOVE) and told.first_granted < unit.dying:
                yield of("I29", unit, told, "nobody had asked for the removal")


def nothing_after_force(history: History) -> Iterator[Violation]:
    """I37: a unit gets no event after it was removed by force."""
    for unit in history.units:
        for event in unit.events:
            if event.revision > unit.forced and event.state is not EventState.ABANDONED:
                yield of("I37", unit, event, "the unit had been removed by force")
