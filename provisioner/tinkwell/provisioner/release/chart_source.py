"""The charts of an operation: from the archive that the server sends to each chart in its place in the release."""

import base64
import binascii
from collections.abc import Mapping

from tinkwell.client.release import model
from tinkwell.core import errors
from tinkwell.core.release.chart import dependency, process
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.source import ChartSource
from tinkwell.core.value import document
from tinkwell.provisioner.release.expression.naming import ChartNames, FileTexts, Release

MAX_SOURCE_BYTES = 4 * 1024 * 1024
_FIELD = "chart"


class Charts:
    """The charts of a release by their paths, with the values that they see."""

    def __init__(self, root: Unit) -> None:
        self.root = root
        self._units = {unit.path: unit for unit in process.units(root)}
        # By the charts themselves, since one may stand in many places.
        self._texts: dict[int, FileTexts] = {}

    def names(self, path: str, release: Release) -> ChartNames:
        """Return what expressions of a chart may name."""
        unit = self._units[path]
        key = id(unit.chart)
        if key not in self._texts:
            self._texts[key] = FileTexts.of(unit.chart.files)
        return ChartNames(unit.values, release, unit.chart.metadata.as_json(), self._texts[key])

    def files(self, path: str) -> Mapping[str, bytes]:
        """Return the files of a chart, by their paths in its `files/`."""
        return self._units[path].chart.files


def of_work(work: model.Work) -> Charts | None:
    """Read the charts of an operation, in a thread; None for one without. Raises `errors.InvalidField`."""
    if not work.source:
        return None
    source = ChartSource.read(document.parse_json_object("source", work.source, max_bytes=MAX_SOURCE_BYTES))
    return Charts(source.process(read(work.chart))) if source is not None else None


def read(text: str) -> Chart:
    """Read the chart of an archive, which is given in base64; raises `errors.InvalidField`."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise errors.InvalidField.of(_FIELD, f"is no archive in base64: {error}") from error
    return charts.load(archive.unpack(data))


def files_at(root: Chart, path: str) -> Mapping[str, bytes]:
    """Return the files of the chart that has a path in a release of another one, whatever the values are.

    Without values it is not known what is enabled, but what once was is still where it was.
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
