"""What a manifest has of each chart, with the names that the chart itself knows: the other way from `chart_assembly`.

resources shop.store:disk        ─▶  shop.store: resources disk
"""

from collections.abc import Mapping
from dataclasses import replace

from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.chart_assembly import Joining, Part
from tinkwell.core.release.manifest.late import Late, Target
from tinkwell.core.release.manifest.model import Plug
from tinkwell.core.release.manifest.rendered import RenderedManifest, RenderedResource


def parts(manifest: RenderedManifest) -> dict[str, RenderedManifest]:
    """Return the part of each chart by the chart's path; without charts the whole manifest by ""."""
    if not manifest.charts:
        return {"": manifest}
    plugs: dict[str, dict[str, Plug]] = {path: {} for path in manifest.charts}
    resources: dict[str, dict[str, RenderedResource]] = {path: {} for path in manifest.charts}
    for path, plug in manifest.plugs.items():
        chart, own = name.split_chart(path)
        plugs[chart][own] = plug
    for path, resource in manifest.resources.items():
        chart, own = name.split_chart(path)
        resources[chart][own] = _within(resource)
    return {
        path: RenderedManifest(
            plugs=plugs[path],
            resources=resources[path],
            outputs=chart.outputs,
            late_outputs=_own_names(chart.late_outputs),
        )
        for path, chart in manifest.charts.items()
    }


def join(manifest: RenderedManifest, found: Mapping[str, RenderedManifest]) -> RenderedManifest:
    """Return the manifest with other parts for the same charts; raises `errors.InvalidField` if a limit is exceeded."""
    if not manifest.charts:
        return found[""]
    joining = Joining()
    for path, chart in manifest.charts.items():
        joining.add(Part(path=path, chart=chart, manifest=found[path]))
    return joining.manifest


def _within(resource: RenderedResource) -> RenderedResource:
    return replace(resource, dependencies=_own_targets(resource.dependencies), late=_own_names(resource.late))


def _own_names(late: Late) -> Late:
    return replace(late, names=_own_targets(late.names)) if late.names else late


def _own_targets(targets: Mapping[str, Target]) -> dict[str, Target]:
    return {
        key: name.split_chart(target)[1]
        if isinstance(target, str)
        else tuple(name.split_chart(path)[1] for path in target)
        for key, target in targets.items()
    }
