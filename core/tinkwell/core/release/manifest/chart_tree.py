"""Checks that the charts of a rendered manifest fit together: each has a parent, and its batches name its subcharts."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from tinkwell.core.release.manifest import name
from tinkwell.core.value import check, parse

_FIELD = "charts"


class Batched(Protocol):
    """The fields of a chart that are checked; `rendered.RenderedChart` has them."""

    @property
    def batches(self) -> tuple[tuple[str, ...], ...]: ...
    @property
    def edges(self) -> tuple[tuple[str, str], ...]: ...


def check_tree(checks: check.Checks, charts: Mapping[str, Batched], resources: Iterable[str]) -> None:
    """Refuse charts that are not a tree, batches and edges that do not fit, and resources of missing charts.

    Without charts no resource may have one.
    """
    names: dict[str, set[str]] = {path: set() for path in charts}
    for path in charts:
        parent, _, own = path.rpartition(".")
        if parent and parent not in charts:
            checks.refuse(parse.child(_FIELD, path), f"there is no chart {parent}, of which it is a part")
        elif parent:
            names[parent].add(own)
    roots = [path for path in charts if "." not in path]
    if charts and len(roots) != 1:
        checks.refuse(_FIELD, f"has {len(roots)} charts that are no part of another one; there must be one")
    for path, chart in charts.items():
        _check_chart(checks, path, chart, names[path])
    for path in resources:
        if name.split_chart(path)[0] not in (charts or ("",)):
            checks.refuse(parse.child("resources", path), "there is no chart of which it is a part")


def _check_chart(checks: check.Checks, path: str, chart: Batched, children: set[str]) -> None:
    at, own = parse.child(_FIELD, path), path.rpartition(".")[2]
    batched = [each for batch in chart.batches for each in batch]
    if sorted(batched) != sorted((*children, own)) or own not in chart.batches[-1]:
        checks.refuse(f"{at}.batches", "must have each subchart once, and the chart itself in the last one")
    for before, after in chart.edges:
        if before not in children or after not in (*children, own):
            why = f"has {before} → {after}, which does not lead from a subchart to another one or to the chart itself"
            checks.refuse(f"{at}.edges", why)
