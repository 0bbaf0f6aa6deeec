"""The subject of events: charts with their scripts, and the manifest that was rendered from them.

Handlers change the subject one after the other, each in its own chart. Their changes are combined after the last one.
"""

from collections.abc import Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.release.chart import changing, process
from tinkwell.core.release.lifecycle_event import order
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.core.release.manifest import changed, chart_part, rendered
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.lua.registration import Handler
from tinkwell.provisioner.release.lua.scripts import ChartScripts
from tinkwell.provisioner.release.prepare.chart_source import Charts

_LUA = "ext/lua/"


class Subject:
    """The charts of a revision, or a manifest without any."""

    def __init__(self, charts: Charts | None, manifest: RenderedManifest | None) -> None:
        self.charts = charts
        # The handlers that the loaded scripts have registered.
        self.handlers: Sequence[Handler] = ()
        # The paths of all charts, subcharts before their parents.
        self.paths = order.children_first(charts.paths) if charts is not None else ()
        self._before = charts
        self._manifest = manifest
        self._parts: dict[str, RenderedManifest] | None = None
        self._is_changed = False

    @property
    def root(self) -> str:
        """The path of the root; empty without charts."""
        return self.charts.root.path if self.charts is not None else ""

    @property
    def manifest(self) -> RenderedManifest | None:
        """The rendered manifest; None before rendering."""
        return self._manifest

    def render(self, manifest: RenderedManifest) -> None:
        """Set the rendered manifest."""
        self._manifest, self._parts = manifest, None

    def has(self, chart: str) -> bool:
        """Return whether the subject has this chart."""
        return chart == self.root or (self.charts is not None and self.charts.find(chart) is not None)

    def scripts(self) -> list[ChartScripts]:
        """Return the scripts of all charts, subcharts first; empty if no chart has scripts."""
        charts = self.charts
        if charts is None or not any(unit.chart.lua for unit in process.units(charts.root)):
            return []
        found = (charts.find(path) for path in self.paths)
        return [
            ChartScripts(
                path=unit.path,
                name=unit.name,
                metadata=unit.chart.metadata.as_json(),
                files={f"{_LUA}{path}": text for path, text in unit.chart.lua.items()},
            )
            for unit in found
            if unit is not None
        ]

    def place(self, chart: str, file: str, line: int) -> str:
        """Return the place of a script's line in the archive of the root."""
        unit = self.charts.find(chart) if self.charts is not None else None
        # A fault in another chart's script has the whole path already.
        path = unit.chart.path(file) if unit is not None and file.startswith(_LUA) else file
        return f"{path}:{line}"

    def heard(self) -> dict[str, set[Event]]:
        """Return, by the paths of charts, the events that their scripts and their parents' scripts hear."""
        found: dict[str, set[Event]] = {}
        for handler in self.handlers:
            found.setdefault(handler.chart, set()).add(handler.event)
        return found

    def metadata(self, chart: str) -> JsonObject:
        """Return the metadata of a chart."""
        unit = self.charts.find(chart) if self.charts is not None else None
        return unit.chart.metadata.as_json() if unit is not None else {}

    def values(self, chart: str) -> JsonObject:
        """Return the values that a chart sees."""
        unit = self.charts.find(chart) if self.charts is not None else None
        return unit.values if unit is not None else {}

    def files(self, chart: str) -> JsonObject:
        """Return the texts of a chart's files by their paths; null for a file that is no text."""
        if self.charts is None:
            return {}
        found = self.charts.file_texts(chart)
        return {**found.texts, **dict.fromkeys(found.refused)}

    def templates(self, chart: str) -> JsonObject:
        """Return the texts of a chart's templates by their paths."""
        unit = self.charts.find(chart) if self.charts is not None else None
        return dict(unit.chart.all_templates) if unit is not None else {}

    def part(self, chart: str) -> JsonObject | None:
        """Return the part of the manifest from a chart, with the chart's own names; None before rendering."""
        found = self._all_parts().get(chart)
        return found.as_json() if found is not None else None

    def change_values(self, chart: str, values: JsonObject) -> None:
        """Replace the values of a chart and of its subcharts; raises `errors.InvalidField`."""
        assert self.charts is not None
        self.charts = Charts(changing.with_values(self.charts.root, chart, values), is_changed=True)

    def change_templates(self, chart: str, templates: Mapping[str, str]) -> None:
        """Replace the templates of a chart; raises `errors.InvalidField`."""
        assert self.charts is not None
        root = changing.with_templates(self.charts.root, chart, templates)
        self.charts = Charts(root, is_changed=self.charts.is_changed)

    def change_part(self, chart: str, given: JsonObject) -> None:
        """Replace the part of the manifest from a chart; raises `errors.InvalidField`."""
        parts = self._all_parts()
        parts[chart] = changed.read(parts[chart], given)
        self._is_changed = True

    def settle_values(self) -> frozenset[str]:
        """Check the size of changed values, and return the paths of the charts whose values differ now.

        Raises `errors.InvalidField`.
        """
        if self.charts is None or self._before is None or not self.charts.is_changed:
            return frozenset()
        found = changing.changed_values(self._before.root, self.charts.root)
        changing.check_size(self.charts.root)
        self.charts = Charts(self.charts.root, is_changed=bool(found) or self._before.is_changed)
        return found

    def mark_values(self, secret: Sequence[str]) -> None:
        """Set the JSON pointers to secrets in changed values; raises `errors.InvalidField`."""
        assert self.charts is not None
        if len(secret) > rendered.MAX_SECRET_VALUES:
            why = f"are writeOnly in {len(secret):,} places; at most {rendered.MAX_SECRET_VALUES:,} may be"
            raise errors.InvalidField.of(process.USER_VALUES, why)
        self.charts = Charts(self.charts.root, is_changed=self.charts.is_changed, secret=secret)

    def settle_manifest(self) -> bool:
        """Put the changed parts into the manifest, and return whether any had changed; raises `errors.InvalidField`."""
        is_changed, self._is_changed = self._is_changed, False
        if is_changed and self._manifest is not None:
            joined = chart_part.join(self._manifest, self._all_parts())
            parse.check_size("resources", document.dump_json(joined.as_json()), max_bytes=rendered.MAX_MANIFEST_BYTES)
            self._manifest = joined
        return is_changed

    def _all_parts(self) -> dict[str, RenderedManifest]:
        if self._parts is None:
            self._parts = chart_part.parts(self._manifest) if self._manifest is not None else {}
        return self._parts
