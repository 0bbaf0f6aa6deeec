"""Which subcharts the expressions of a chart may name: those that have settled before the expression is evaluated.

Whoever names another chart's outputs says in Chart.yaml that it waits for that chart, so that its order is to be seen
there and nowhere else. An expression that names one without that is told the line to add.
"""

import json
from collections.abc import Callable

from tinkwell.core.release.chart import chart as charts
from tinkwell.core.release.chart import metadata
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.manifest.scope import Subcharts

_NOTHING_WAITS = "with --wait none nothing waits for its outputs; install the release with --wait ordered or eager"


def by_chart(unit: Unit) -> Subcharts:
    """Return what the templates of a chart may name: what its own resources wait for."""
    line = f"{metadata.DEPENDS_ON}: "
    known = list(unit.chart.metadata.depends_on)

    def hint(subchart: str) -> str:
        names = json.dumps([*known, subchart], ensure_ascii=False)
        return f"add to the annotations in {unit.chart.path(charts.METADATA)} the line {line}'{names}'"

    return Subcharts(awaited=_before(unit, unit.name), others=_others(unit, unit.name, hint))


def by_subchart(unit: Unit, subchart: str) -> Subcharts:
    """Return what the inputs of a subchart may name of its siblings: those that it waits for."""
    known = next(
        (list(entry.depends_on) for entry in unit.chart.metadata.dependencies if entry.effective_name == subchart), []
    )

    def hint(sibling: str) -> str:
        names = json.dumps([*known, sibling], ensure_ascii=False)
        return f"add to its entry in {unit.chart.path(charts.METADATA)} the line depends-on: {names}"

    found = Subcharts(awaited=_before(unit, subchart), others=_others(unit, subchart, hint))
    itself = {subchart: f"{subchart} cannot be given what it gives itself"}
    return Subcharts(awaited=found.awaited, others={**found.others, **itself})


def by_nobody(unit: Unit) -> Subcharts:
    """Return what may be named where nothing waits for anything: no subchart."""
    sentences = {child: f"{child} is not waited for: {_NOTHING_WAITS}" for child in unit.children}
    return Subcharts(others={**_disabled(unit), **sentences})


def _before(unit: Unit, after: str) -> frozenset[str]:
    return frozenset(edge.before for edge in unit.sequence.edges if edge.after == after)


def _others(unit: Unit, after: str, hint: Callable[[str], str]) -> dict[str, str]:
    sentences = {child: f"{after} does not wait for {child}; {hint(child)}" for child in unit.children}
    return {**_disabled(unit), **sentences}


def _disabled(unit: Unit) -> dict[str, str]:
    return {
        name: f"{name} is not installed: {decision.why}"
        for name, decision in unit.decisions.items()
        if not decision.is_enabled
    }
