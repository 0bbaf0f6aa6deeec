"""Which subcharts the expressions of a chart may name: those that are settled before the expression is evaluated.

A chart that uses another chart's outputs must declare in Chart.yaml that it waits for that chart, so that Chart.yaml
alone shows the order. An expression that names another chart without this gets an error with the missing line.
"""

import json
from collections.abc import Callable, Collection

from tinkwell.core.release.chart.file import archive, metadata
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.manifest.scope import Subcharts

_NOTHING_WAITS = "with --wait none nothing waits for its outputs; install the release with --wait ordered or eager"


def by_chart(unit: Unit) -> Subcharts:
    """Return the subcharts that the templates of a chart may name: those that its own resources wait for."""

    def hint(subchart: str) -> str:
        names = json.dumps([*unit.chart.metadata.depends_on, subchart], ensure_ascii=False)
        place = unit.chart.path(archive.METADATA)
        return f"add to the annotations in {place} the line {metadata.DEPENDS_ON}: '{names}'"

    return _subcharts(unit, unit.name, _befores(unit).get(unit.name, ()), hint)


def by_subcharts(unit: Unit) -> dict[str, Subcharts]:
    """Return for each subchart the siblings that its inputs may name: those that it waits for."""
    befores = _befores(unit)
    return {child: _of_child(unit, child, befores.get(child, ())) for child in unit.children}


def by_nobody(unit: Unit) -> Subcharts:
    """Return the subcharts that an expression may name if it waits for nothing: none."""

    def explain(subchart: str) -> str:
        return _disabled(unit, subchart) or f"{subchart} is not waited for: {_NOTHING_WAITS}"

    return Subcharts(others=unit.decisions.keys(), explain=explain)


def _of_child(unit: Unit, child: str, awaited: Collection[str]) -> Subcharts:
    def hint(sibling: str) -> str:
        entries = unit.chart.metadata.dependencies
        known = [name for entry in entries if entry.effective_name == child for name in entry.depends_on]
        names = json.dumps([*known, sibling], ensure_ascii=False)
        return f"add to its entry in {unit.chart.path(archive.METADATA)} the line depends-on: {names}"

    return _subcharts(unit, child, awaited, hint)


def _befores(unit: Unit) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for edge in unit.sequence.edges:
        found.setdefault(edge.after, []).append(edge.before)
    return found


def _subcharts(unit: Unit, after: str, awaited: Collection[str], hint: Callable[[str], str]) -> Subcharts:
    def explain(subchart: str) -> str:
        if subchart == after:
            return f"{subchart} cannot use its own outputs as its inputs"
        return _disabled(unit, subchart) or f"{after} does not wait for {subchart}; {hint(subchart)}"

    return Subcharts(awaited=frozenset(awaited), others=unit.decisions.keys(), explain=explain)


def _disabled(unit: Unit, subchart: str) -> str:
    decision = unit.decisions[subchart]
    told = f"{subchart} is not installed: {decision.why}; enable it, or leave it out here"
    return "" if decision.is_enabled else told
