"""I8, I12, I18 and I32: when a task may run."""

from collections.abc import Iterator

from tinkwell.core.unit.invariant.history import NEVER, History, Ran, UnitHistory
from tinkwell.core.unit.invariant.violation import Violation
from tinkwell.core.unit.kinds import EventKind, EventState


def tasks_come_after_start(history: History) -> Iterator[Violation]:
    """I8: a task begins after `start` and before the removal is asked for."""
    for unit, ran in _tasks(history):
        if ran.started < unit.started:
            yield _of("I8", unit, ran, "it began before start")
        if ran.started > unit.dying:
            yield _of("I8", unit, ran, "it began after the removal was asked for")


def tasks_part_no_pair(history: History) -> Iterator[Violation]:
    """I12 and I18: no task runs between `joined` and its `changed`, or within the chain after `upgrade-charm`."""
    for unit, ran in _tasks(history):
        for before, told in zip(unit.stream, unit.stream[1:], strict=False):
            if told.is_forced and before.revision < ran.started < told.revision:
                name = "I12" if told.kind is EventKind.RELATION_CHANGED else "I18"
                yield _of(name, unit, ran, f"it began between {before.kind} and {told.kind}, which follows at once")


def tasks_run_alone(history: History) -> Iterator[Violation]:
    """I32: while a task runs, no other task and no event of its unit runs."""
    for unit in history.units:
        last = -1
        for ran in unit.tasks:
            if ran.started < last:
                yield _of("I32", unit, ran, "another task was running")
            last = max(last, ran.ended)
        for started, ended in _running(unit):
            for ran in unit.tasks:
                if started < ran.ended and ran.started < ended:
                    yield _of("I32", unit, ran, f"an event ran from revision {started} on")


def _tasks(history: History) -> Iterator[tuple[UnitHistory, Ran]]:
    return ((unit, ran) for unit in history.units for ran in unit.tasks)


def _running(unit: UnitHistory) -> Iterator[tuple[int, int]]:
    """Yield the first and last revision of each time in which an event of a unit ran.

    A lost event counts as running until the server decides what becomes of it.
    """
    started = 0
    for event in unit.events:
        if event.state is EventState.RUNNING:
            started = started or event.revision
        elif started:
            yield started, event.revision
            started = 0
    if started:
        yield started, NEVER


def _of(invariant: str, unit: UnitHistory, ran: Ran, text: str) -> Violation:
    return Violation(invariant, unit.name, ran.started, f"task {ran.record.name or ran.record.resource_id}: {text}")
