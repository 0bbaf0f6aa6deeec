"""Draws in which order a chart's subcharts are installed: as text, for Graphviz, and for Mermaid."""

import json
from collections.abc import Iterator

from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.sequence import Edge

_FILE = "Chart.yaml "  # what stands before it is clear from the chart's heading


def text(unit: Unit) -> Iterator[str]:
    """Give the lines for people: a heading for each chart that has subcharts, and its batches with what they need."""
    yield from _text(unit, "")


def dot(unit: Unit) -> Iterator[str]:
    """Give the lines of a graph in Graphviz's language: a node for each chart, and a box around those of a parent."""
    yield f"digraph {json.dumps(unit.path)} {{"
    yield "  rankdir=LR;"
    yield from _dot(unit, "  ")
    for before, after in _arrows(unit):
        yield f"  {json.dumps(before)} -> {json.dumps(after)};"
    yield "}"


def mermaid(unit: Unit) -> Iterator[str]:
    """Give the lines of a flowchart in Mermaid's language."""
    names = {path: f"n{number}" for number, path in enumerate(_paths(unit))}
    yield "flowchart LR"
    yield from _mermaid(unit, names, "  ")
    for before, after in _arrows(unit):
        yield f"  {names[before]} --> {names[after]}"


def _text(unit: Unit, indent: str) -> Iterator[str]:
    yield f"{indent}{unit.path}"
    batches = [list(_rows(unit, batch)) for batch in unit.sequence.batches]
    bound = [row for rows in batches for row in rows if row[1]]
    widths = [max((len(row[column]) for row in bound), default=0) for column in range(2)]
    heading = len(f"batch {len(batches)}")
    for number, rows in enumerate(batches, 1):
        for place, (names, needed, origins) in enumerate(rows):
            begin = "" if place else f"batch {number}"
            line = f"{indent}  {begin:<{heading}}   {names:<{widths[0]}} {needed:<{widths[1]}}   {origins}"
            yield line.rstrip()
    for warning in unit.sequence.warnings:
        yield f"{indent}  warning: {warning}"
    for name in (name for batch in unit.sequence.batches for name in batch):
        if name in unit.children and unit.children[name].children:
            yield from _text(unit.children[name], f"{indent}  ")


def _rows(unit: Unit, batch: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Give a row for each name of a batch that needs another one; the first row has those that need none as well."""
    edges = {name: [edge for edge in unit.sequence.edges if edge.after == name] for name in batch}
    free = [name for name in batch if not edges[name]]
    bound = [name for name in batch if edges[name]]
    if not bound:
        yield " · ".join(free), "", ""
    for place, name in enumerate(bound):
        names = name if place else " · ".join([*free, name])
        yield names, f"← {', '.join(edge.before for edge in edges[name])}", _origins(edges[name])


def _origins(edges: list[Edge]) -> str:
    found = dict.fromkeys(origin.rpartition(_FILE)[2] for edge in edges for origin in edge.origins)
    return ", ".join(found)


def _paths(unit: Unit) -> Iterator[str]:
    yield unit.path
    for child in unit.children.values():
        yield from _paths(child)


def _arrows(unit: Unit) -> Iterator[tuple[str, str]]:
    """Iterate over the edges of a chart and its subcharts, by paths."""
    for edge in unit.sequence.edges:
        after = f"{unit.path}.{edge.after}" if edge.after in unit.children else unit.path
        yield f"{unit.path}.{edge.before}", after
    for child in unit.children.values():
        yield from _arrows(child)


def _dot(unit: Unit, indent: str) -> Iterator[str]:
    yield f"{indent}{json.dumps(unit.path)} [label={json.dumps(unit.name)}];"
    if not unit.children:
        return
    yield f"{indent}subgraph {json.dumps(f'cluster {unit.path}')} {{"
    yield f"{indent}  label={json.dumps(unit.path)};"
    for child in unit.children.values():
        yield from _dot(child, f"{indent}  ")
    yield f"{indent}}}"


def _mermaid(unit: Unit, names: dict[str, str], indent: str) -> Iterator[str]:
    yield f'{indent}{names[unit.path]}["{unit.name}"]'
    if not unit.children:
        return
    yield f'{indent}subgraph {names[unit.path]}s["{unit.path}"]'
    for child in unit.children.values():
        yield from _mermaid(child, names, f"{indent}  ")
    yield f"{indent}end"
