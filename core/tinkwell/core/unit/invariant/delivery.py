"""I32 to I36: a unit gets one event at a time, events have dense numbers, and effects come with their event."""

from collections.abc import Iterator

from tinkwell.core.unit.invariant.history import History, UnitHistory
from tinkwell.core.unit.invariant.record import EventRecord
from tinkwell.core.unit.invariant.violation import Violation, of
from tinkwell.core.unit.kinds import EventState

_S = EventState


def one_event_in_flight(history: History) -> Iterator[Violation]:
    """I32 and I33: a unit has one event in flight, and a failed event blocks the unit until it ends."""
    for unit in history.units:
        current: EventRecord | None = None
        for event in unit.events:
            if current is not None and current.resource_id != event.resource_id:
                invariant = "I33" if current.state is _S.ERROR else "I32"
                yield of(invariant, unit, event, f"#{current.ordinal} {current.name} was {current.state} before it")
            current = None if event.state.is_final else event


def attempts_follow_each_other(history: History) -> Iterator[Violation]:
    """I32: an event goes through its states in order; its attempts are counted from 1 without gaps."""
    for unit in history.units:
        last: dict[str, EventRecord] = {}
        for event in unit.events:
            before = last.get(event.resource_id)
            if text := _wrong_step(before, event):
                yield of("I32", unit, event, text)
            last[event.resource_id] = event


def _wrong_step(before: EventRecord | None, event: EventRecord) -> str:
    if before is None:
        if event.state is _S.RUNNING:
            return "" if event.attempt == 1 else f"its first attempt is counted as {event.attempt}"
        return "" if event.state is _S.SKIPPED else f"it is {event.state}, and never ran"
    if before.state.is_final:
        return f"it was {before.state} before"
    if not _is_same(before, event):
        return "it is not the event that it was"
    if event.state is _S.RUNNING:
        return (
            "" if event.attempt == before.attempt + 1 else f"attempt {event.attempt} follows attempt {before.attempt}"
        )
    if before.state is _S.ERROR and event.state in (_S.COMMITTED, _S.ERROR):
        return f"it was ERROR before, and is {event.state} without another attempt"
    return ""


def _is_same(one: EventRecord, other: EventRecord) -> bool:
    return (one.kind, one.ordinal, one.relation, one.remote, one.storage) == (
        other.kind,
        other.ordinal,
        other.relation,
        other.remote,
        other.storage,
    )


def ordinals_are_dense(history: History) -> Iterator[Violation]:
    """I34 and I36: a unit's events are numbered from 1 without gaps, and appear in that order."""
    for unit in history.units:
        known: set[str] = set()
        for event in unit.events:
            if event.resource_id in known:
                continue
            known.add(event.resource_id)
            if event.ordinal != len(known):
                yield of("I34", unit, event, f"it is numbered {event.ordinal}, and is the {len(known)}th of its unit")


def effects_come_with_their_event(history: History) -> Iterator[Violation]:
    """I34: a unit's bag changes with the commit of its event or task, once: its versions grow by one."""
    for relation in history.relations.values():
        for owner, bag in relation.bags.items():
            for expected, record in enumerate(bag, start=1):
                if record.version != expected:
                    text = f"version {record.version} follows version {expected - 1}"
                    yield Violation("I34", f"bag of {owner} in relation {relation.number}", record.revision, text)
                    break
    for unit in history.units:
        yield from _check_writes(history, unit)


def _check_writes(history: History, unit: UnitHistory) -> Iterator[Violation]:
    """No other event of the unit is between a bag's entry and its unit's commit: one transaction writes both."""
    events = sorted(
        [
            *((event.revision, event.state is _S.COMMITTED) for event in unit.events),
            *((ran.started, False) for ran in unit.tasks),
            *((ran.ended, ran.has_succeeded) for ran in unit.tasks),
        ]
    )
    for number in unit.relations():
        relation = history.relations.get(number)
        index = 0
        for record in relation.bags.get(unit.name, []) if relation else []:
            while index < len(events) and events[index][0] < record.revision:
                index += 1
            if not any(is_committed for _, is_committed in events[max(index - 1, 0) : index + 1]):
                text = f"{unit.name} wrote version {record.version} of its bag, and committed no event with it"
                yield Violation("I34", f"relation {number}", record.revision, text)
