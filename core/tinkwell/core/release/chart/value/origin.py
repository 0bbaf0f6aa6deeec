"""Where the values of a release are from, and what enabled or disabled each of its subcharts.

All sources of a value are returned: the user's files and flags, `values.yaml` of charts, and imports from subcharts.
They are in ascending order, so the last source decides.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruamel.yaml.nodes import MappingNode, Node

from tinkwell.core.release.chart import dependency, process
from tinkwell.core.release.chart.dependency import Decision
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.sequence import Edge
from tinkwell.core.release.chart.value import set_value, value
from tinkwell.core.release.chart.value.given import Given
from tinkwell.core.release.chart.value.value import NOTHING, Path
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.core.value.yaml import node as yaml_node
from tinkwell.core.value.yaml import position


@dataclass(frozen=True, slots=True)
class Source:
    """A place that has a value; `line` is 0 if the place has no lines. A chart may have imported it from there."""

    name: str
    line: int = 0
    is_secret: bool = False
    is_import: bool = False

    def __str__(self) -> str:
        place = f"{self.name}:{self.line}" if self.line else self.name
        return f"{place} (imported)" if self.is_import else place


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """A value of the release and its sources, of which the last one decides; an empty object may have none."""

    path: Path
    value: JsonValue
    sources: tuple[Source, ...]

    @property
    def key(self) -> str:
        """The path in one text."""
        return set_value.write_path(self.path)

    @property
    def is_secret(self) -> bool:
        """Whether the value must not be shown."""
        return any(source.is_secret for source in self.sources)


@dataclass(frozen=True, slots=True)
class DependencyOrigin:
    """The decision about a subchart, the sources of the values that decided, and the subcharts that it waits for.

    `path` is the subchart's path in the release, such as `shop.store`.
    """

    path: str
    decision: Decision
    sources: tuple[Source, ...]
    edges: tuple[Edge, ...]


def values(root: Unit, given: Sequence[Given] = ()) -> Iterator[ValueOrigin]:
    """Yield all values of a release that are not objects, and empty objects, in their order.

    `given` is what the user gave, in the order of merging: later parts win.
    """
    tracer = _Tracer(root, given)
    for unit, path, found in _leaves(root, (), root.values):
        sources = tracer.trace(unit, path)
        # Each subchart has globals, and most of these are empty.
        if sources or path != (value.GLOBAL,):
            yield ValueOrigin((*_place(unit), *path), found, sources)


def dependencies(root: Unit, given: Sequence[Given] = ()) -> Iterator[DependencyOrigin]:
    """Yield all subcharts that are declared or vendored, parents before their children."""
    tracer = _Tracer(root, given)
    for unit in process.units(root):
        for name, decision in unit.decisions.items():
            sources = [source for key in decision.keys for source in tracer.trace_key(unit, key)]
            edges = tuple(edge for edge in unit.sequence.edges if edge.after == name)
            yield DependencyOrigin(f"{unit.path}.{name}", decision, _unique(sources), edges)


@dataclass(frozen=True, slots=True)
class _Way:
    """How far some values lead to the wanted value: `objects` parts of the path lead to objects, then comes `there`.

    `sources` are those of the wanted value; there are none if the path ends earlier.
    """

    objects: int = 0
    there: value.Found = NOTHING
    sources: tuple[Source, ...] = ()

    def over(self, under: "_Way") -> "_Way":
        """Return the result of putting these values over others, as `value.overlay` does."""
        if not isinstance(self.there, value.Nothing):
            return dataclasses.replace(self, sources=(*under.sources, *self.sources)) if self.sources else self
        if isinstance(under.there, value.Nothing):
            return _Way(max(self.objects, under.objects))
        return under if under.objects >= self.objects else self

    def below(self, parts: int) -> "_Way":
        """Return the way within the object at the first `parts` parts; nothing if there is no object."""
        return dataclasses.replace(self, objects=self.objects - parts) if self.objects >= parts else _Way()

    def above(self, parts: int) -> "_Way":
        """Return the way with the first `parts` parts leading to objects, and this way behind them."""
        return dataclasses.replace(self, objects=self.objects + parts)


class _Tracer:
    """Finds the sources of values, by the steps of `coalescing` for one value. Each file's lines are computed once."""

    def __init__(self, root: Unit, given: Sequence[Given]) -> None:
        self._given = [(each, _lines(each.text)) for each in given]
        self._units = {_place(unit): unit for unit in process.units(root)}
        self._imports = {place: _imports(unit) for place, unit in self._units.items()}
        self._lines: dict[int, Mapping[Path, int]] = {}
        self._entries: dict[int, dependency.Entries] = {}

    def trace(self, unit: Unit, path: Path) -> tuple[Source, ...]:
        """Return the sources of a value of a chart; the last one decides."""
        return _unique(self._merged(unit, path).sources)

    def trace_key(self, unit: Unit, key: Path) -> tuple[Source, ...]:
        """Return the sources of a value that decided about a subchart; it may be one of the subchart's own values."""
        place = _place(unit) if key[: len(_place(unit))] == _place(unit) else ()
        unit, path = self._units[place], key[len(place) :]
        return self._merged(unit, path).over(self._defaults_below(unit.chart, path)).sources

    def _merged(self, unit: Unit, path: Path) -> _Way:
        return self._handed(unit, path).over(self._defaults(unit, path))

    def _handed(self, unit: Unit, path: Path) -> _Way:
        """Return the way in the values given to a chart: by the user if it is the root, else by its parent."""
        place = _place(unit)
        if not place:
            found = _Way()
            for each, lines in self._given:
                found = _follow(each.values, path, each.name, lines, is_secret=each.is_secret).over(found)
            return found
        parent = self._units[place[:-1]]
        own = self._merged(parent, (unit.name, *path)).below(1)
        if path[0] != value.GLOBAL:
            return own
        # `global` is always an object in the result, whatever the chart has in its place.
        own = own.below(1).above(1)
        return own if _is_kept(unit, parent, path[:2]) else self._merged(parent, path).below(1).above(1).over(own)

    def _defaults(self, unit: Unit, path: Path) -> _Way:
        """Return the way in a chart's defaults: its own values, and below them its imports."""
        imported = _Way()
        for child, source, target in self._imports[_place(unit)]:
            if self._has_table(unit, child, source):
                imported = imported.over(self._imported(unit, child, source, target, path))
        return self._of_chart(unit.chart, path).over(imported)

    def _imported(self, unit: Unit, child: Unit, source: Path, target: Path, path: Path) -> _Way:
        """Return the way in an imported object of a child, at the place to which it is imported."""
        shared = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(path, target, strict=False))
        common = sum(1 for _ in shared)
        if common == len(path):
            return _Way(common - 1, {})
        if common < len(target):
            return _Way(common)
        rest = path[common:]
        upper = self._of_chart(unit.chart, (child.name, *source, *rest)).below(1 + len(source))
        lower = self._defaults(child, (*source, *rest)).below(len(source))
        found = upper.over(lower).above(common)
        marked = (dataclasses.replace(each, is_import=True) for each in found.sources)
        return dataclasses.replace(found, sources=tuple(marked))

    def _has_table(self, unit: Unit, child: Unit, source: Path) -> bool:
        """Return whether the child has the object that is to be imported."""
        upper = self._of_chart(unit.chart, (child.name, *source))
        if not isinstance(upper.there, value.Nothing):
            return upper.objects == len(source) and isinstance(upper.there, dict)
        return not source or isinstance(self._defaults(child, source).there, dict)

    def _defaults_below(self, chart: Chart, path: Path) -> _Way:
        """Return the way in the defaults of subcharts, enabled or not."""
        if id(chart) not in self._entries:
            self._entries[id(chart)] = dependency.read_entries(chart)
        child = self._entries[id(chart)].by_name.get(path[0]) if len(path) > 1 else None
        if child is None or child.chart is None:
            return _Way()
        return self._of_chart(child.chart, path[1:]).over(self._defaults_below(child.chart, path[1:])).above(1)

    def _of_chart(self, chart: Chart, path: Path) -> _Way:
        if id(chart) not in self._lines:
            self._lines[id(chart)] = _lines(chart.values_text)
        return _follow(chart.values, path, chart.path(charts.VALUES), self._lines[id(chart)])


def _follow(values: JsonObject, path: Path, name: str, lines: Mapping[Path, int], *, is_secret: bool = False) -> _Way:
    """Return the way of a path in the values of one place."""
    for objects, part in enumerate(path):
        there = values.get(part, NOTHING)
        if isinstance(there, value.Nothing) or there is None:
            return _Way(objects, there)
        if objects + 1 == len(path):
            around = (path[:length] for length in range(len(path), 0, -1))
            line = next((lines[each] for each in around if each in lines), 0)
            return _Way(objects, there, (Source(name, line, is_secret),))
        if not isinstance(there, dict):
            return _Way(objects, there)
        values = there
    return _Way()


def _unique(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return each source once, at its last place."""
    return tuple(reversed(dict.fromkeys(reversed(sources))))


def _is_kept(unit: Unit, parent: Unit, path: Path) -> bool:
    """Return whether a chart keeps its own global, because its parent's is an object and its own is not."""
    own, given = (value.find((value.Layer("", each.values),), path) for each in (unit, parent))
    are_there = not isinstance(own, value.Nothing) and not isinstance(given, value.Nothing)
    return are_there and isinstance(own, dict) != isinstance(given, dict)


def _leaves(unit: Unit, path: Path, values: JsonObject) -> Iterator[tuple[Unit, Path, JsonValue]]:
    for key, found in values.items():
        if not path and key in unit.children:
            yield from _leaves(unit.children[key], (), unit.children[key].values)
        elif isinstance(found, dict) and found:
            yield from _leaves(unit, (*path, key), found)
        else:
            yield unit, (*path, key), found


def _place(unit: Unit) -> Path:
    return tuple(unit.path.split(".")[1:])


def _imports(unit: Unit) -> list[tuple[Unit, Path, Path]]:
    """Return the imports of a chart: the child, the path in the child, the path in the chart; the first one wins."""
    return [
        (unit.children[each.name], source, target)
        for each in dependency.read_entries(unit.chart).all
        if each.name in unit.children
        for source, target in each.imports
    ]


def _lines(text: str) -> dict[Path, int]:
    """Return the line of each member of a YAML file; contents of an alias are not visited again."""
    found: dict[Path, int] = {}
    try:
        node = next(yaml_node.documents(text), None)
    except position.Malformed:  # the text was parsed before, or is JSON and not YAML
        return {}
    waiting: list[tuple[Path, Node]] = [((), node)] if node else []
    seen: set[int] = set()
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, MappingNode) and id(node) not in seen:
            seen.add(id(node))
            found |= {(*path, key.value): key.start_mark.line + 1 for key, _ in node.value}
            # In the order of the text: an anchor comes before its aliases.
            waiting += [((*path, key.value), member) for key, member in reversed(node.value)]
    return found
