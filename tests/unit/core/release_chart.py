"""Charts in few words, as the files of one would make them."""

import dataclasses
import re
from collections.abc import Collection, Iterable

from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.file.metadata import Dependency, Metadata
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.value.document import JsonObject

_ENTRY = re.compile(r"(?P<name>[\w-]+)(?: as (?P<alias>[\w-]+))?(?:\((?P<before>[\w,-]*)\))?")


def chart(
    name: str,
    *vendored: Chart,
    dependencies: Iterable[Dependency] = (),
    annotation: Iterable[str] = (),
    values: JsonObject | None = None,
    version: str = "1.0.0",
) -> Chart:
    """Make a chart; the charts that are vendored in it have folders by their names and versions."""
    metadata = Metadata(
        api_version="v2",
        name=name,
        version=version,
        dependencies=tuple(dependencies),
        depends_on=tuple(annotation),
    )
    charts = {f"{child.metadata.name}-{child.metadata.version}": child for child in vendored}
    return _placed(Chart(metadata=metadata, values=values or {}, charts=charts), "")


def family(
    name: str,
    *entries: str,
    annotation: Iterable[str] = (),
    values: JsonObject | None = None,
    vendored: Iterable[Chart] = (),
) -> Chart:
    """Make a chart of entries such as `app as web(db,queue)`: a dependency app, called web, that waits for two others.

    Each has the condition `NAME.enabled`. What is not among the vendored charts is made, without subcharts.
    """
    found = {child.metadata.name: child for child in vendored}
    dependencies = []
    for entry in entries:
        dependency = depends(entry)
        dependencies.append(dataclasses.replace(dependency, condition=f"{dependency.effective_name}.enabled"))
        found.setdefault(dependency.name, chart(dependency.name))
    return chart(name, *found.values(), dependencies=dependencies, annotation=annotation, values=values)


def depends(entry: str) -> Dependency:
    """Make a dependency of such an entry."""
    parts = _ENTRY.fullmatch(entry)
    assert parts, entry
    before = tuple(name for name in (parts["before"] or "").split(",") if name)
    return Dependency(name=parts["name"], alias=parts["alias"] or "", depends_on=before)


def off(*names: str) -> JsonObject:
    """Give values that disable subcharts."""
    return {name: {"enabled": False} for name in names}


def batches(unit: Unit) -> list[list[str]]:
    """Give the batches of a unit; of the last one, which is a set, the names in their order."""
    *layers, last = [list(batch) for batch in unit.sequence.batches]
    assert last[-1] == unit.name
    return [*layers, sorted(last)]


def enabled(unit: Unit) -> Collection[str]:
    """Give the paths of all units but the root, without its name."""
    return {each.path.partition(".")[2] for each in process.units(unit)} - {""}


def _placed(found: Chart, folder: str) -> Chart:
    charts = {name: _placed(child, f"{folder}charts/{name}/") for name, child in found.charts.items()}
    return dataclasses.replace(found, folder=folder, charts=charts)
