"""What is wrong with a chart once it meets its subcharts and values: collected, and raised as one error."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from tinkwell.core import errors
from tinkwell.core.value.document import MAX_VIOLATIONS


class FaultKind(StrEnum):
    """What kind of fault it is; the words are part of the output of `chart dag -o json`."""

    NAME = "name"
    MISSING = "missing"
    UNKNOWN = "unknown"
    AMBIGUOUS = "ambiguous"
    DISABLED = "disabled"
    ITSELF = "itself"
    CYCLE = "cycle"
    VALUES = "values"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something wrong in the chart at `chart_path`, and the names of subcharts that it is about.

    `field` is the path of a file and of what stands in it, or begins with `values` where the user gave it.
    """

    kind: FaultKind
    chart_path: str
    names: tuple[str, ...] = ()
    field: str
    description: str
    is_of_user: bool = False


class ChartFaulty(errors.ChartInvalid):
    """A chart is wrong together with its subcharts and values; there is a fault for each violation."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(errors.Violation(fault.field, fault.description) for fault in self.faults)


class Faults:
    """Collects faults: each place once, since a chart may be used under many aliases, and the first ones alone."""

    def __init__(self) -> None:
        self._found: dict[tuple[FaultKind, str, tuple[str, ...]], Fault] = {}

    @property
    def is_full(self) -> bool:
        """Whether no more faults are kept."""
        return len(self._found) >= MAX_VIOLATIONS

    def note(self, fault: Fault) -> None:
        """Keep a fault."""
        if not self.is_full:
            self._found.setdefault((fault.kind, fault.field, fault.names), fault)

    def stop(self, fault: Fault) -> NoReturn:
        """Raise a fault after which there is no use in looking on, with those that were found before it."""
        raise _error([*self._found.values(), fault])

    def finish(self) -> None:
        """Raise `ChartFaulty` if anything was found; `errors.InvalidField` where only the user's values are wrong."""
        if self._found:
            raise _error([*self._found.values()])


def _error(faults: list[Fault]) -> errors.InvalidField:
    if all(fault.is_of_user for fault in faults):
        return errors.InvalidField(errors.Violation(fault.field, fault.description) for fault in faults)
    return ChartFaulty(faults)
