"""Joins the charts of a release, each rendered by itself, to one manifest, in which every path begins with its chart.

shop.store: resources disk, plugs data        ─▶  resources shop.store:disk, plugs shop.store:data
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tinkwell.core import errors
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.late import Late, Target
from tinkwell.core.release.manifest.model import Plug
from tinkwell.core.release.manifest.rendered import (
    MAX_CHARTS,
    MAX_EDGES,
    MAX_MANIFEST_BYTES,
    MAX_RESOURCES,
    RenderedChart,
    RenderedManifest,
    RenderedResource,
    parse_notes,
)
from tinkwell.core.release.manifest.scope import Meanings, Roots, Scope, Subcharts
from tinkwell.core.value import check, document
from tinkwell.core.value.document import JsonObject

MAX_INPUTS_BYTES = document.MAX_DOCUMENT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A chart by itself. The paths of `manifest` are paths within the chart, and its outputs are the chart's."""

    path: str
    chart: RenderedChart
    manifest: RenderedManifest


class Joining:
    """The manifest of a release, to which charts are added one by one, parents before children."""

    def __init__(self) -> None:
        self._charts: dict[str, RenderedChart] = {}
        self._plugs: dict[str, Plug] = {}
        self._resources: dict[str, RenderedResource] = {}
        self._edges = 0
        self._bytes = 0

    @property
    def manifest(self) -> RenderedManifest:
        """The manifest of all charts that were added."""
        return RenderedManifest(plugs=self._plugs, resources=self._resources, charts=self._charts)

    def add(self, part: Part) -> None:
        """Add a chart; raises `errors.InvalidField` if the total exceeds a limit."""
        chart = replace(
            part.chart,
            outputs=part.manifest.outputs,
            late_outputs=_in_chart(part.path, part.manifest.late_outputs),
        )
        added = RenderedManifest(
            plugs={name.join_chart(part.path, plug): found for plug, found in part.manifest.plugs.items()},
            resources={
                name.join_chart(part.path, path): replace(
                    resource,
                    dependencies=_targets(part.path, resource.dependencies),
                    late=_in_chart(part.path, resource.late),
                )
                for path, resource in part.manifest.resources.items()
            },
            charts={part.path: chart},
        )
        self._charts.update(added.charts)
        self._plugs.update(added.plugs)
        self._resources.update(added.resources)
        self._count(added)

    def _count(self, added: RenderedManifest) -> None:
        """Count the parts of all charts, so that memory never holds more than the limits allow."""
        self._edges += sum(len(resource.prerequisites) for resource in added.resources.values())
        self._edges += sum(len(chart.edges) for chart in added.charts.values())
        self._bytes += max(
            len(document.dump_json(stored).encode()) for stored in (added.as_json(), added.late_as_json())
        )
        checks = check.Checks()
        for field, what, found, most in (
            ("charts", "charts", len(self._charts), MAX_CHARTS),
            ("resources", "resources", len(self._resources), MAX_RESOURCES),
            ("resources", "dependencies, those between charts included,", self._edges, MAX_EDGES),
            ("resources", "bytes", self._bytes, MAX_MANIFEST_BYTES),
        ):
            if found > most:
                checks.refuse(field, f"has {found:,} {what} in all charts; at most {most:,} are allowed")
        checks.finish()


def read_inputs(
    field: str,
    given: object,
    late: Mapping[str, Roots],
    *,
    names: Collection[str],
    resources: Collection[str],
    subcharts: Subcharts,
) -> tuple[JsonObject, Late]:
    """Read the evaluated inputs of a subchart; raises `errors.InvalidField`.

    `names`, `resources` and `subcharts` are those of the parent, which has the expressions.
    """
    found = document.check_json(field, given, max_bytes=MAX_INPUTS_BYTES)
    if not isinstance(found, dict):
        raise errors.InvalidField.of(field, f"must be an object, and not {document.describe(found)}")
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    hint = "is a resource of the chart itself, which comes after its subcharts"
    scope = Scope(known=names, others=resources, others_hint=hint, subcharts=subcharts)
    meant = Meanings(checks).find(field, found, late, scope)
    checks.finish()
    return found, meant


def read_notes(field: str, given: object) -> str:
    """Read evaluated notes; raises `errors.InvalidField`."""
    if not isinstance(given, str):
        raise errors.InvalidField.of(field, f"must give text, and not {document.describe(given)}")
    return parse_notes(field, given)


def _in_chart(chart: str, late: Late) -> Late:
    return replace(late, names=_targets(chart, late.names))


def _targets(chart: str, targets: Mapping[str, Target]) -> dict[str, Target]:
    return {
        key: name.join_chart(chart, target)
        if isinstance(target, str)
        else tuple(name.join_chart(chart, path) for path in target)
        for key, target in targets.items()
    }
