"""Which charts a release is made of: the root and, level by level, the subcharts that its values enable.

The value of a condition or a tag is searched in the layers of values, which are not merged for it. So a disabled chart
costs nothing, however large it is.
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from tinkwell.core import errors
from tinkwell.core.release.chart import dependency
from tinkwell.core.release.chart.dependency import Decider, Decision, Declared, Entries, Import
from tinkwell.core.release.chart.fault import Fault, FaultKind, Faults
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.value import value
from tinkwell.core.release.chart.value.value import Layer
from tinkwell.core.release.manifest import name as names
from tinkwell.core.value import parse
from tinkwell.core.value.document import JsonObject

# Dependencies, enabled or not, with the values that decide about them.
MAX_LOOKED_AT = 25 * charts.MAX_SUBCHARTS
MAX_WARNINGS = 100

_SHOWN = 20
_RESERVED = frozenset({value.GLOBAL, dependency.TAGS})


@dataclass(slots=True, eq=False, kw_only=True)
class Selected:
    """A chart of the release, in its place.

    `given` are the values that users and the charts above give it, the highest first, without its own values. `inputs`
    and `imports` are those of its entry in the parent. `children` are the enabled subcharts by name, declared ones
    first; `decisions` are about all subcharts.
    """

    chart: Chart
    name: str
    path: str
    place: value.Path
    given: Sequence[Layer]
    parent: "Selected | None" = None
    inputs: JsonObject = field(default_factory=dict)
    imports: Sequence[Import] = ()
    entries: Entries = field(default_factory=Entries)
    children: dict[str, "Selected"] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def warn(self, sentence: str) -> None:
        """Note a warning; only the first ones are kept."""
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(sentence)

    def fault(self, kind: FaultKind, place: str, description: str, about: tuple[str, ...] = ()) -> Fault:
        """Return a fault of the chart at a place, such as a key of a file, about subcharts with these names."""
        return Fault(
            kind=kind, chart_path=self.path, names=about, field=place, description=description, chart=self.chart
        )

    @property
    def own(self) -> Layer:
        """The values of the chart itself, as a layer."""
        return Layer(self.chart.path(charts.VALUES), self.chart.values, self.chart)


class Selector:
    """Selects the charts of a release. Faults are noted; a fault that makes further checks useless is raised."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._subcharts = 0
        self._looked_at = 0
        # By identity: a chart with many aliases is the same object each time.
        self._entries: dict[int, tuple[Chart, Entries]] = {}

    def select(self, chart: Chart, user: Layer) -> Selected:
        """Select the charts of a release. The root's name was checked when it was loaded."""
        name = chart.metadata.name
        root = Selected(chart=chart, name=name, path=name, place=(), given=(user,))
        self._select_children(root, root, 1)
        return root

    def _select_children(self, node: Selected, root: Selected, level: int) -> None:
        node.entries = self._entries_of(node.chart)
        self._looked_at += node.entries.weight
        if self._looked_at > MAX_LOOKED_AT:
            self._stop(node, f"the release has more than {MAX_LOOKED_AT:,} dependencies, conditions, tags and imports")
        self._check_names(node)
        find, find_at_root = functools.partial(self._find, node), functools.partial(self._find, root)
        for each in node.entries.all:
            decision = dependency.decide(each, node.place, find, find_at_root, node.warn)
            node.decisions[each.name] = decision
            if decision.is_enabled and each.chart:
                self._add(node, each.name, each.chart, level, each)
        self._note_missing(node)
        self._add_undeclared(node, level)
        for child in node.children.values():
            self._select_children(child, root, level + 1)

    def _entries_of(self, chart: Chart) -> Entries:
        known = self._entries.get(id(chart))
        entries = known[1] if known else dependency.read_entries(chart)
        self._entries[id(chart)] = chart, entries
        return entries

    def _find(self, node: Selected, path: value.Path) -> value.Found:
        """Find a value of a chart by its path, as it will be when all layers are merged."""
        if path[0] == value.GLOBAL and node.parent:
            found = self._find(node.parent, path)
            if not isinstance(found, value.Nothing):
                return found
        return value.find(itertools.chain(node.given, (node.own,), self._defaults(node.entries, path)), path)

    def _defaults(self, entries: Entries, path: value.Path) -> Iterator[Layer]:
        """Yield the subcharts' own defaults for a value, in the place where their parent sees them."""
        child = entries.by_name.get(path[0])
        if child and child.chart and len(path) > 1:
            own = Layer(child.chart.path(charts.VALUES), child.chart.values)
            for layer in itertools.chain((own,), self._defaults(self._entries_of(child.chart), path[1:])):
                yield Layer(layer.field, {child.name: layer.values})

    def _check_names(self, node: Selected) -> None:
        for each in node.entries.all:
            place = f"{each.field}.{'alias' if each.entry.alias else 'name'}"
            if each.name == node.name:
                sentence = f"{each.name} is the name of its parent as well; give it an alias"
                self._faults.note(node.fault(FaultKind.NAME, place, sentence))
            elif each.name in _RESERVED:
                sentence = f"{each.name} means something else in values; give it an alias"
                self._faults.note(node.fault(FaultKind.NAME, place, sentence))

    def _note_missing(self, node: Selected) -> None:
        """Note all subcharts that are enabled but not vendored, as one fault."""
        missing = [each for each in node.entries.all if node.decisions[each.name].is_enabled and not each.chart]
        if missing:
            listed = ", ".join(_describe_missing(each) for each in missing[:_SHOWN])
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            folder = node.chart.path("charts/")
            description = f"{folder} lacks {listed}{more}; vendor what is missing into it, or disable it"
            place = node.chart.path(f"{archive.METADATA}.dependencies")
            self._faults.note(node.fault(FaultKind.MISSING, place, description, tuple(each.name for each in missing)))

    def _add_undeclared(self, node: Selected, level: int) -> None:
        taken = node.entries.by_name.keys() | {node.name, *_RESERVED}
        for child in node.entries.unnamed:
            folder, name = child.folder.rstrip("/"), child.metadata.name
            try:
                names.parse_chart_name("", name)
            except errors.InvalidField as error:
                self._faults.note(node.fault(FaultKind.NAME, folder, error.violations[0].description))
                continue
            if name in taken:
                description = f"there is another {name}; list both as dependencies, one of them with an alias"
                self._faults.note(node.fault(FaultKind.NAME, folder, description, (name,)))
                continue
            taken.add(name)
            node.decisions[name] = Decision(name, is_enabled=True, by=Decider.UNDECLARED)
            node.warn(
                f"{folder}: no dependency of {node.path} names it; it is installed last, together with {node.name}"
            )
            self._add(node, name, child, level)
        for child in node.entries.unasked:
            folder = child.folder.rstrip("/")
            node.warn(f"{folder}: no dependency of {node.path} asks for version {child.metadata.version}")

    def _add(self, node: Selected, name: str, chart: Chart, level: int, each: Declared | None = None) -> None:
        self._subcharts += 1
        if self._subcharts > charts.MAX_SUBCHARTS:
            self._stop(
                node, f"the release has more than {charts.MAX_SUBCHARTS:,} subcharts; disable or divide some of them"
            )
        if level >= archive.MAX_LEVELS:
            self._stop(node, f"its subcharts are nested deeper than {archive.MAX_LEVELS} levels")
        node.children[name] = Selected(
            chart=chart,
            name=name,
            path=f"{node.path}.{name}",
            place=(*node.place, name),
            given=_narrow((*node.given, node.own), name),
            parent=node,
            inputs=each.entry.inputs if each else {},
            imports=each.imports if each else (),
        )

    def _stop(self, node: Selected, description: str) -> NoReturn:
        place = node.chart.path(archive.METADATA)
        self._faults.stop(Fault(kind=FaultKind.LIMIT, chart_path=node.path, field=place, description=description))


def _narrow(layers: Sequence[Layer], name: str) -> tuple[Layer, ...]:
    """Return the layers for a child; a null for the child hides the layers below."""
    found = []
    for layer in layers:
        if name in layer.values:
            given = layer.values[name]
            if not isinstance(given, dict):
                break
            found.append(Layer(parse.child(layer.field, name), given, layer.chart))
    return tuple(found)


def _describe_missing(each: Declared) -> str:
    wanted = f" {each.entry.version}" if each.entry.version else ""
    there = f", beside {' and '.join(each.others)}" if each.others else ""
    return f"{each.entry.name}{wanted} (dependencies[{each.index}]{there})"
