"""Reads the charts of an operation from the archive that the server sends."""

import base64
import binascii
from collections.abc import Mapping, Sequence

from tinkwell.client.release import model
from tinkwell.core import errors
from tinkwell.core.release.chart import changing, dependency, process
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.source import ChartSource
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.value import document
from tinkwell.provisioner.release.expression.naming import ChartNames, FileTexts, Release

MAX_SOURCE_BYTES = 4 * 1024 * 1024
_FIELD = "chart"


class Charts:
    """The charts of a release by their paths, with the values that they see.

    `is_changed` says that handlers have changed the values, which then differ from the values of charts and user.
    `secret` are the JSON pointers to secrets in the values.
    """

    def __init__(self, root: Unit, *, is_changed: bool = False, secret: Sequence[str] = ()) -> None:
        self.root = root
        self.is_changed = is_changed
        self.secret = tuple(secret)
        self._units = {unit.path: unit for unit in process.units(root)}
        # The key is `id` of the chart, since a chart may be used in many places.
        self._texts: dict[int, FileTexts] = {}

    def names(self, path: str, release: Release) -> ChartNames:
        """Return the names that expressions of a chart may use."""
        unit = self._units[path]
        return ChartNames(unit.values, release, unit.chart.metadata.as_json(), self.file_texts(path))

    def files(self, path: str) -> Mapping[str, bytes]:
        """Return the files of a chart, by their paths in its `files/`."""
        return self._units[path].chart.files

    def file_texts(self, path: str) -> FileTexts:
        """Return the files of a chart as texts."""
        unit = self._units[path]
        key = id(unit.chart)
        if key not in self._texts:
            self._texts[key] = FileTexts.of(unit.chart.files)
        return self._texts[key]

    def find(self, path: str) -> Unit | None:
        """Return the chart with this path, or None."""
        return self._units.get(path)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all charts, parents before their children."""
        return tuple(self._units)


def of_work(work: model.Work, manifest: RenderedManifest | None = None) -> Charts | None:
    """Read the charts of an operation; None if it has none. Call it in a thread; raises `errors.InvalidField`.

    With the manifest that was rendered from the charts, they get the values that they were rendered with.
    """
    if not work.source:
        return None
    source = ChartSource.read(document.parse_json_object("source", work.source, max_bytes=MAX_SOURCE_BYTES))
    if source is None:
        return None
    root = source.process(read(work.chart))
    rendered = manifest.charts.get(root.path) if manifest is not None else None
    if rendered is None or rendered.values is None:
        return Charts(root)
    return Charts(changing.with_values(root, root.path, rendered.values), is_changed=True)


def root_of(work: model.Work) -> str:
    """Return the path of the root chart of an operation; empty if it has no charts."""
    if not work.source:
        return ""
    source = ChartSource.read(document.parse_json_object("source", work.source, max_bytes=MAX_SOURCE_BYTES))
    return source.name if source is not None else ""


def read(text: str) -> Chart:
    """Read the chart of an archive, which is given in base64; raises `errors.InvalidField`."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise errors.InvalidField.of(_FIELD, f"is no archive in base64: {error}") from error
    return charts.load(archive.unpack(data))


def files_at(root: Chart, path: str) -> Mapping[str, bytes]:
    """Return the files of the chart with this path below `root`, also if values disable the chart.

    This serves removed charts, which were enabled once, and whose values are not at hand.
    """
    found: Chart | None = root
    for name in path.split(".")[1:]:
        found = _child(found, name) if found is not None else None
    return found.files if found is not None else {}


def _child(chart: Chart, name: str) -> Chart | None:
    entries = dependency.read_entries(chart)
    if name in entries.by_name:
        return entries.by_name[name].chart
    return next((child for child in entries.unnamed if child.metadata.name == name), None)
