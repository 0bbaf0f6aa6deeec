"""The faults of a chart together with its subcharts and values: collected, and raised as one error."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from ruamel.yaml.nodes import Node

from tinkwell.core import errors
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.value.document import MAX_VIOLATIONS
from tinkwell.core.value.yaml import node as yaml_node
from tinkwell.core.value.yaml import position


class FaultKind(StrEnum):
    """The kind of a fault; its value is part of the output of `chart dag -o json`."""

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
    """A fault in the chart at `chart_path`, with the names of the subcharts that it is about.

    `field` is the path of a file and a path in it, or begins with `values` if the user gave the faulty value. `chart`
    is the chart that has the file, from which the line number is found.
    """

    kind: FaultKind
    chart_path: str
    names: tuple[str, ...] = ()
    field: str
    description: str
    is_of_user: bool = False
    chart: Chart | None = None


class ChartFaulty(errors.ChartInvalid):
    """A chart is wrong together with its subcharts and values; `faults` has one fault for each violation."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(errors.Violation(fault.field, fault.description) for fault in self.faults)


class Faults:
    """Collects faults: each place once, because a chart may have many aliases, and at most the first MAX_VIOLATIONS."""

    def __init__(self) -> None:
        self._found: dict[tuple[FaultKind, str, tuple[str, ...]], Fault] = {}

    @property
    def is_full(self) -> bool:
        """Whether further faults are dropped."""
        return len(self._found) >= MAX_VIOLATIONS

    def note(self, fault: Fault) -> None:
        """Keep a fault."""
        if not self.is_full:
            self._found.setdefault((fault.kind, fault.field, fault.names), fault)

    def stop(self, fault: Fault) -> NoReturn:
        """Raise a fault that makes further checks useless, together with the faults before it."""
        raise _error([*self._found.values(), fault])

    def finish(self) -> None:
        """Raise `ChartFaulty` if there are faults; `errors.InvalidField` if all of them are in the user's values."""
        if self._found:
            raise _error([*self._found.values()])


def _error(faults: list[Fault]) -> errors.InvalidField:
    if all(fault.is_of_user for fault in faults):
        return errors.InvalidField(errors.Violation(fault.field, fault.description) for fault in faults)
    nodes: dict[str, Node | None] = {}
    return ChartFaulty(_located(fault, nodes) for fault in faults)


def _located(fault: Fault, nodes: dict[str, Node | None]) -> Fault:
    """Add the line number to the description of a fault in a file."""
    if fault.chart is None or fault.is_of_user:
        return fault
    for name, text in ((archive.METADATA, fault.chart.metadata_text), (charts.VALUES, fault.chart.values_text)):
        file = fault.chart.path(name)
        if fault.field.startswith(f"{file}."):
            if file not in nodes:
                nodes[file] = next(yaml_node.documents(text), None)
            if node := nodes[file]:
                place = yaml_node.locate(node, position.parse_path(fault.field.removeprefix(f"{file}.")))
                sentence = f"line {place.line}, column {place.column}: {fault.description}"
                return dataclasses.replace(fault, description=sentence)
    return fault
