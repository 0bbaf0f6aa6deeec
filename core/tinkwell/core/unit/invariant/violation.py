"""The violations that an audit finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.unit.invariant.history import History, Told, UnitHistory
from tinkwell.core.unit.invariant.record import EventRecord


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation of an invariant, such as I12; `revision` is its place in the log, or 0 for the end of the log."""

    invariant: str
    subject: str
    revision: int
    text: str

    def __str__(self) -> str:
        where = f" at revision {self.revision}" if self.revision else ""
        return f"{self.invariant}: {self.subject}{where}: {self.text}"


Check: TypeAlias = Callable[[History], Iterator[Violation]]


def of(invariant: str, unit: UnitHistory, told: Told | EventRecord, text: str) -> Violation:
    """Return a violation with the place and name of a unit's event."""
    record = told.record if isinstance(told, Told) else told
    return Violation(invariant, f"{unit.name} #{record.ordinal} {record.name}", record.revision, text)
