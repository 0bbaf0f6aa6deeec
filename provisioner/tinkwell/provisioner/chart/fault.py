"""What is wrong with a chart, for programs: {"kind", "path", "names", "field", "message"}."""

from tinkwell.core import errors
from tinkwell.core.release.chart.fault import ChartFaulty
from tinkwell.core.value.document import JsonObject


def as_json(error: errors.InvalidField) -> JsonObject:
    """Give the JSON form of the first thing that is wrong.

    `kind` is one of `core.release.chart.fault.FaultKind`, `chart` where a file is wrong by itself, and `given` where it
    is what the user gave. `path` is that of the chart, empty where it is not known yet, and `names` are the subcharts
    that it is about.
    """
    if isinstance(error, ChartFaulty):
        fault = error.faults[0]
        return {
            "kind": fault.kind.value,
            "path": fault.chart_path,
            "names": list(fault.names),
            "field": fault.field,
            "message": fault.description,
        }
    first = error.violations[0]
    kind = "chart" if isinstance(error, errors.ChartInvalid) else "given"
    return {"kind": kind, "path": "", "names": [], "field": first.field, "message": first.description}
