"""What is wrong with a chart once it meets its subcharts and values: collected, and raised as one error."""

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

    `field` is the path of a file and of what stands in it, or begins with `values` where the user gave it. `chart` is
    the one whose file it is, by which the line is told.
    """

    kind: FaultKind
    chart_path: str
    names: tuple[str, ...] = ()
    field: str
    description: str
    is_of_user: bool = False
    chart: Chart | None = None


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
    nodes: dict[str, Node | None] = {}
    return ChartFaulty(_located(fault, nodes) for fault in faults)


def _located(fault: Fault, nodes: dict[str, Node | None]) -> Fault:
    """Say in the description of a fault in which line it stands, as for all that is wrong within a file."""
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
