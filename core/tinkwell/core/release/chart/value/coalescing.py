"""The values that each chart of a release sees: users' values over charts' values, parents' over children's.

First, from the leaves up, charts import values of their children, as defaults below their own. Then, from the root
down, each chart puts the given values over its defaults, and passes each child its part with the globals.
"""

from collections.abc import Callable

from tinkwell.core.release.chart.fault import Fault, FaultKind, Faults
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.selection import Selected
from tinkwell.core.release.chart.value import value
from tinkwell.core.release.chart.value.value import Layer
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

# For all charts of a release together, including imported values.
MAX_CHARACTERS = 8 * 1024 * 1024
MAX_WARNINGS = 20


class Coalescing:
    """Computes the values of all charts of a release. Faults are noted; exceeding a limit raises them."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._cleaner = value.Cleaner()
        self._characters = 0
        self._defaults: dict[Selected, JsonObject] = {}
        self._values: dict[Selected, JsonObject] = {}

    def coalesce(self, root: Selected) -> dict[Selected, JsonObject]:
        """Return the values of each chart, which contain those of its children by their names."""
        self._import(root)
        self._characters = 0
        self._coalesce(root, root.given[0].values if root.given else {}, 1)
        return self._values

    def _import(self, node: Selected) -> None:
        """Merge the defaults of a chart: its own, and below them its imports, of which earlier ones win."""
        imported = value.Pile()
        for child in node.children.values():
            self._import(child)
            for source, target in child.imports:
                table = self._table(node, child, source)
                if table is None:
                    missing = parse.excerpt(".".join(source[: document.MAX_DEPTH]))
                    node.warn(f"{node.chart.path(archive.METADATA)}: {child.name} has no object {missing} to import")
                    continue
                if self._spend(node, table) + len(target) > document.MAX_DEPTH:
                    self._stop(node, f"would be nested deeper than {document.MAX_DEPTH} levels by an import")
                imported.put_under(value.nest(target, table))
        self._defaults[node] = value.overlay(node.chart.values, imported.values)
        if imported.values:
            self._spend(node, self._defaults[node])

    def _table(self, node: Selected, child: Selected, path: value.Path) -> JsonObject | None:
        """Return an object of the child as the chart and the child define it."""
        upper, lower = node.own, Layer("", {child.name: self._defaults[child]})
        if not isinstance(value.find((upper, lower), (child.name, *path)), dict):
            return None
        parts = [value.find((layer,), (child.name, *path)) for layer in (upper, lower)]
        over, under = (part if isinstance(part, dict) else {} for part in parts)
        return value.overlay(over, under)

    def _coalesce(self, node: Selected, given: JsonObject, level: int) -> JsonObject:
        warn = _Warnings(node)
        merged = value.overlay(given, self._defaults[node], warn.clash)
        shared = merged.get(value.GLOBAL)
        if shared is not None and not isinstance(shared, dict):
            warn.note(f"global is {document.describe(shared)}; only an object is handed on to subcharts")
        slices: JsonObject = {}
        for child in node.children.values():
            part = self._part(node, child, merged.get(child.name))
            handed = _with_globals(part, shared if isinstance(shared, dict) else {}, _Warnings(child))
            slices[child.name] = self._coalesce(child, handed, level + 1)
        rest = self._cleaner.without_nulls({key: part for key, part in merged.items() if key not in slices})
        if self._spend(node, rest) + level - 1 > document.MAX_DEPTH:
            self._stop(node, f"are nested deeper than {document.MAX_DEPTH} levels, with those of the charts around it")
        values = {key: slices.get(key, rest.get(key)) for key in merged if key in slices or key in rest}
        self._values[node] = {**values, **slices}
        return self._values[node]

    def _part(self, node: Selected, child: Selected, part: JsonValue) -> JsonObject:
        """Return the values that a chart gives a child; a null in them hides only values given by charts above."""
        if part is None or isinstance(part, dict):
            return part or {}
        wrong = next((layer for layer in (*node.given, node.own) if layer.values.get(child.name) is not None), node.own)
        description = (
            f"is {document.describe(part)}, and {child.name} is a subchart of {node.path}; "
            "write an object with the values of the subchart"
        )
        self._faults.note(
            Fault(
                kind=FaultKind.VALUES,
                chart_path=node.path,
                names=(child.name,),
                field=parse.child(wrong.field, child.name),
                description=description,
                is_of_user=wrong.is_of_user,
                chart=wrong.chart,
            )
        )
        return {}

    def _spend(self, node: Selected, values: JsonObject) -> int:
        """Count values against the limit for all values; return how deep they are nested."""
        size, depth = self._cleaner.measure(values)
        self._characters += size
        if self._characters > MAX_CHARACTERS:
            self._stop(node, f"come, with those of other charts, to more than {MAX_CHARACTERS:,} characters of JSON")
        return depth

    def _stop(self, node: Selected, description: str) -> None:
        description = f"the values of {node.path} {description}"
        self._faults.stop(
            Fault(kind=FaultKind.LIMIT, chart_path=node.path, field=node.own.field, description=description)
        )


class _Warnings:
    """Collects warnings about the values of a chart; only the first ones are kept."""

    def __init__(self, node: Selected) -> None:
        self._node = node
        self._left = MAX_WARNINGS

    def clash(self, path: value.Path, upper: JsonValue, lower: JsonValue) -> None:
        """Note that an object and another type of value meet, unless a whole top-level object is replaced."""
        if len(path) > 1 or isinstance(upper, dict):
            place = ".".join(path)
            found = f"{self._node.own.field} has {document.describe(lower)} there"
            self.note(f"{place} is given {document.describe(upper)}, while {found}")

    def note(self, sentence: str) -> None:
        """Note a sentence about the values of the chart."""
        if self._left > 0:
            self._node.warn(f"values of {self._node.path}: {sentence}")
        self._left -= 1


def _with_globals(part: JsonObject, shared: JsonObject, warn: _Warnings) -> JsonObject:
    """Return a child's values with the globals of its parent, which win over the child's own globals."""
    own = part.get(value.GLOBAL)
    if own is not None and not isinstance(own, dict):
        warn.note(f"global is given {document.describe(own)}, which is left out; an object is needed")
    clash: Callable[[value.Path, JsonValue, JsonValue], None] = warn.clash
    return {**part, value.GLOBAL: value.share_globals(shared, own if isinstance(own, dict) else {}, clash)}
