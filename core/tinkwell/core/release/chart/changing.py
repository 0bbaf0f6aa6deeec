"""The changes that handlers make to the values and templates of a release's charts before they are rendered.

The charts stay one tree: the values of a chart are those that the root has for it, and its `global` values reach all
charts below it. Which subcharts are enabled, and their order, is fixed before.
"""

import dataclasses
from collections.abc import Callable, Mapping

from tinkwell.core import errors
from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.value import coalescing, value
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

MAX_TEMPLATE_BYTES = 1024 * 1024
# The manifest keeps the values at charts.NAME.values, which adds three levels.
MAX_VALUE_DEPTH = document.MAX_DEPTH - 3


def field_of(path: str) -> str:
    """Return the place of a chart's values within those of the release."""
    field = process.USER_VALUES
    for each in place_of(path):
        field = parse.child(field, each)
    return field


def place_of(path: str) -> tuple[str, ...]:
    """Return the keys that lead to a chart's values within those of the release."""
    return tuple(path.split(".")[1:])


def with_values(root: Unit, path: str, given: object) -> Unit:
    """Return the charts, with other values for the chart with this path and those below it.

    Raises `errors.InvalidField` if `given` is not an object, or has no object where a subchart has its values.
    """
    field = field_of(path)
    values = document.check_json(field, given, max_bytes=coalescing.MAX_CHARACTERS)
    if not isinstance(values, dict):
        raise errors.InvalidField.of(field, f"must be an object, and not {document.describe(values)}")
    changed = _changed(root, path, lambda unit: _fitted(unit, values))
    # The values of each chart contain those of its subcharts, up to the root.
    return _lifted(changed)


def with_templates(root: Unit, path: str, given: Mapping[str, str]) -> Unit:
    """Return the charts, with other templates for the chart with this path, by their paths in `templates/`.

    The notes are one of the templates. Raises `errors.InvalidField` for an invalid path, and for a text that is too
    large.
    """
    for file, text in given.items():
        field = parse.child("templates", file)
        if not file or any(part in ("", ".", "..") for part in file.split("/")):
            raise errors.InvalidField.of(field, f"{parse.show(file)} is not the path of a file in {charts.TEMPLATES}")
        if len(text.encode()) > MAX_TEMPLATE_BYTES:
            raise errors.InvalidField.of(field, f"has more than {MAX_TEMPLATE_BYTES:,} bytes")
    texts = {f"{charts.TEMPLATES}{file}": text for file, text in given.items()}
    return _changed(root, path, lambda unit: dataclasses.replace(unit, chart=charts.with_templates(unit.chart, texts)))


def check_size(root: Unit) -> None:
    """Check the size of the values of all charts together; raises `errors.InvalidField`."""
    document.check_json(
        process.USER_VALUES, root.values, max_bytes=coalescing.MAX_CHARACTERS, max_depth=MAX_VALUE_DEPTH
    )


def changed_values(before: Unit, now: Unit) -> frozenset[str]:
    """Return the paths of the charts whose values have changed."""
    former = {unit.path: unit.values for unit in process.units(before)}
    return frozenset(unit.path for unit in process.units(now) if unit.values != former[unit.path])


def _changed(unit: Unit, path: str, change: Callable[[Unit], Unit]) -> Unit:
    if unit.path == path:
        return change(unit)
    children = {
        name: _changed(child, path, change) if f"{path}.".startswith(f"{child.path}.") else child
        for name, child in unit.children.items()
    }
    return dataclasses.replace(unit, children=children)


def _lifted(unit: Unit) -> Unit:
    """Put the current values of each chart's subcharts into the chart's own values."""
    children = {name: _lifted(child) for name, child in unit.children.items()}
    if all(unit.values.get(name) is child.values for name, child in children.items()):
        return unit
    values = {**unit.values, **{name: child.values for name, child in children.items()}}
    return dataclasses.replace(unit, values=values, children=children)


def _fitted(unit: Unit, values: JsonObject) -> Unit:
    """Give a chart its values, and the charts below it their parts with the globals."""
    shared = values.get(value.GLOBAL)
    children: dict[str, Unit] = {}
    for name, child in unit.children.items():
        part = values.get(name)
        if part is not None and not isinstance(part, dict):
            raise errors.InvalidField.of(
                field_of(child.path),
                f"is {document.describe(part)} now, and {name} is a subchart of {unit.path}; write an object",
            )
        children[name] = _fitted(child, _with_globals(part or {}, shared))
    return dataclasses.replace(
        unit, values={**values, **{name: child.values for name, child in children.items()}}, children=children
    )


def _with_globals(part: JsonObject, shared: JsonValue) -> JsonObject:
    own = part.get(value.GLOBAL)
    if not isinstance(shared, dict):
        return part
    return {**part, value.GLOBAL: value.share_globals(shared, own if isinstance(own, dict) else {}, _ignore)}


def _ignore(_path: value.Path, _upper: JsonValue, _lower: JsonValue) -> None:
    """A subchart keeps its own global if its parent has a value of another type."""
