"""Combines a chart with the values of a user: its subcharts, their values, and their order.

    effective names → references → conditions and tags → imports → coalescing → (schemas) → graph

The same chart and values always give the same result. The caller checks the schemas, which `schemas` returns.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tinkwell.core.release.chart.dependency import Decision
from tinkwell.core.release.chart.fault import Faults
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.selection import Selected, Selector
from tinkwell.core.release.chart.sequence import Sequence, Sequencer
from tinkwell.core.release.chart.value.coalescing import Coalescing
from tinkwell.core.release.chart.value.value import Layer
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject, JsonValue

USER_VALUES = "values"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A chart of a release in its place.

    `path` is the names from the root on, joined by dots; `name` is the last one. `values` are the chart's values, with
    those of its children by their names. `inputs` are those of its entry in the parent, as written. `decisions` say for
    every declared or vendored subchart whether and why it is enabled; `children` are the enabled ones.
    """

    path: str
    name: str
    chart: Chart
    values: JsonObject
    inputs: JsonObject
    children: Mapping[str, "Unit"]
    sequence: Sequence
    decisions: Mapping[str, Decision]


def process(chart: Chart, user_values: JsonObject, *, strict: bool = False) -> Unit:
    """Return the root of the charts to install. The arguments are not changed.

    Raises `ChartFaulty`, an `errors.ChartInvalid`, with all faults, and `errors.InvalidField` with fields that begin
    with `values` if only the user's values are faulty. With `strict` a dependency on a disabled subchart is an error,
    and otherwise a warning.
    """
    given = document.check_json(USER_VALUES, user_values)
    faults = Faults()
    root = Selector(faults).select(chart, Layer(USER_VALUES, given if isinstance(given, dict) else {}))
    values = Coalescing(faults).coalesce(root)
    unit = _unit(root, values, Sequencer(faults, strict=strict))
    faults.finish()
    return unit


def units(root: Unit) -> Iterator[Unit]:
    """Yield a unit and all below it: parents before their children, children in the order of Chart.yaml."""
    yield root
    for child in root.children.values():
        yield from units(child)


def schemas(root: Unit) -> Iterator[tuple[Unit, JsonObject]]:
    """Yield each unit whose chart has a schema for its values, with the schema."""
    for unit in units(root):
        if unit.chart.schema is not None:
            yield unit, unit.chart.schema


def warnings(root: Unit) -> tuple[str, ...]:
    """Return the warnings of a unit and all below it, each sentence once."""
    return tuple(dict.fromkeys(sentence for unit in units(root) for sentence in unit.sequence.warnings))


def dag(unit: Unit) -> JsonObject:
    """Return the order of a unit and all below it as JSON, in the form of `chart dag -o json`."""
    batches: list[JsonValue] = [list(batch) for batch in unit.sequence.batches]
    edges: list[JsonValue] = [
        {"from": edge.before, "to": edge.after, "origins": list(edge.origins)} for edge in unit.sequence.edges
    ]
    return {
        "chart": unit.chart.metadata.name,
        "path": unit.path,
        "batches": batches,
        "edges": edges,
        "warnings": list(unit.sequence.warnings),
        "children": {name: dag(child) for name, child in unit.children.items()},
    }


def _unit(node: Selected, values: Mapping[Selected, JsonObject], sequencer: Sequencer) -> Unit:
    return Unit(
        path=node.path,
        name=node.name,
        chart=node.chart,
        values=values[node],
        inputs=node.inputs,
        children={name: _unit(child, values, sequencer) for name, child in node.children.items()},
        sequence=sequencer.sequence(node),
        decisions=node.decisions,
    )
