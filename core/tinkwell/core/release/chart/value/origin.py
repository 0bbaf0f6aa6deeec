"""Where the values of a release are from, and what has enabled or disabled each of its subcharts.

Of each value all sources are told: files of the user and flags, `values.yaml` of charts, and what a chart imports from
its children. A source that counts more comes after one that counts less, so that the last one has decided.
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
    """A place that has a value; `line` is 0 where there are none. A chart may have imported it from there."""

    name: str
    line: int = 0
    is_secret: bool = False
    is_import: bool = False

    def __str__(self) -> str:
        place = f"{self.name}:{self.line}" if self.line else self.name
        return f"{place} (imported)" if self.is_import else place


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """A value of the release and its sources, of which the last one counts; an empty object may have none."""

    path: Path
    value: JsonValue
    sources: tuple[Source, ...]

    @property
    def key(self) -> str:
        """The path in one text."""
        return set_value.write_path(self.path)

    @property
    def is_secret(self) -> bool:
        """Whether the value is not to be shown."""
        return any(source.is_secret for source in self.sources)


@dataclass(frozen=True, slots=True)
class DependencyOrigin:
    """What has decided on a subchart, the sources of the values that it was decided by, and what it waits for.

    `path` is that of the subchart in the release, such as `shop.store`.
    """

    path: str
    decision: Decision
    sources: tuple[Source, ...]
    edges: tuple[Edge, ...]


def values(root: Unit, given: Sequence[Given] = ()) -> Iterator[ValueOrigin]:
    """Iterate over all values of a release that are no objects, or empty ones, in the order in which they stand.

    `given` is what the user gave, in the order in which it is laid over each other, the last one on top.
    """
    tracer = _Tracer(root, given)
    for unit, path, found in _leaves(root, (), root.values):
        sources = tracer.trace(unit, path)
        # Each subchart has globals, most of them none.
        if sources or path != (value.GLOBAL,):
            yield ValueOrigin((*_place(unit), *path), found, sources)


def dependencies(root: Unit, given: Sequence[Given] = ()) -> Iterator[DependencyOrigin]:
    """Iterate over all subcharts that are declared or vendored, parents before their children."""
    tracer = _Tracer(root, given)
    for unit in process.units(root):
        for name, decision in unit.decisions.items():
            sources = [source for key in decision.keys for source in tracer.trace_key(unit, key)]
            edges = tuple(edge for edge in unit.sequence.edges if edge.after == name)
            yield DependencyOrigin(f"{unit.path}.{name}", decision, _unique(sources), edges)


@dataclass(frozen=True, slots=True)
class _Way:
    """What values have on the way to one of them: `objects` parts of its path lead to objects, and `there` comes next.

    The sources are those of the value; there are none where the way ends before it.
    """

    objects: int = 0
    there: value.Found = NOTHING
    sources: tuple[Source, ...] = ()

    def over(self, under: "_Way") -> "_Way":
        """Lay what some values have over what others have, as `value.overlay` does."""
        if not isinstance(self.there, value.Nothing):
            return dataclasses.replace(self, sources=(*under.sources, *self.sources)) if self.sources else self
        if isinstance(under.there, value.Nothing):
            return _Way(max(self.objects, under.objects))
        return under if under.objects >= self.objects else self

    def below(self, parts: int) -> "_Way":
        """Return what the object has to which some parts lead; nothing where there is none."""
        return dataclasses.replace(self, objects=self.objects - parts) if self.objects >= parts else _Way()

    def above(self, parts: int) -> "_Way":
        """Return the way to an object by some parts, and from there on this one."""
        return dataclasses.replace(self, objects=self.objects + parts)


class _Tracer:
    """Finds the sources of values, in the steps of `coalescing` for one value. Lines of a file are looked for once."""

    def __init__(self, root: Unit, given: Sequence[Given]) -> None:
        self._given = [(each, _lines(each.text)) for each in given]
        self._units = {_place(unit): unit for unit in process.units(root)}
        self._imports = {place: _imports(unit) for place, unit in self._units.items()}
        self._lines: dict[int, Mapping[Path, int]] = {}
        self._entries: dict[int, dependency.Entries] = {}

    def trace(self, unit: Unit, path: Path) -> tuple[Source, ...]:
        """Return the sources of a value of a chart, the one that counts last."""
        return _unique(self._merged(unit, path).sources)

    def trace_key(self, unit: Unit, key: Path) -> tuple[Source, ...]:
        """Return the sources of what has decided on a subchart of a unit; it may be a value of that subchart's own."""
        place = _place(unit) if key[: len(_place(unit))] == _place(unit) else ()
        unit, path = self._units[place], key[len(place) :]
        return self._merged(unit, path).over(self._defaults_below(unit.chart, path)).sources

    def _merged(self, unit: Unit, path: Path) -> _Way:
        return self._handed(unit, path).over(self._defaults(unit, path))

    def _handed(self, unit: Unit, path: Path) -> _Way:
        """Follow what a chart is given: by the user, if it is the root, and else by its parent."""
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
        # There are globals whatever stands in their place.
        own = own.below(1).above(1)
        return own if _is_kept(unit, parent, path[:2]) else self._merged(parent, path).below(1).above(1).over(own)

    def _defaults(self, unit: Unit, path: Path) -> _Way:
        """Follow what a chart says itself: its own values, and below them what it imports."""
        imported = _Way()
        for child, source, target in self._imports[_place(unit)]:
            if self._has_table(unit, child, source):
                imported = imported.over(self._imported(unit, child, source, target, path))
        return self._of_chart(unit.chart, path).over(imported)

    def _imported(self, unit: Unit, child: Unit, source: Path, target: Path, path: Path) -> _Way:
        """Follow an object of a child in the place that it is imported to."""
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
        """Tell whether there is an object to be imported from a child."""
        upper = self._of_chart(unit.chart, (child.name, *source))
        if not isinstance(upper.there, value.Nothing):
            return upper.objects == len(source) and isinstance(upper.there, dict)
        return not source or isinstance(self._defaults(child, source).there, dict)

    def _defaults_below(self, chart: Chart, path: Path) -> _Way:
        """Follow what subcharts say themselves, be they enabled or not."""
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
    """Follow a path in values from one place."""
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
    """Return each source once, where it counts most."""
    return tuple(reversed(dict.fromkeys(reversed(sources))))


def _is_kept(unit: Unit, parent: Unit, path: Path) -> bool:
    """Tell whether a chart keeps a global of its own, since that of its parent is an object and its own is not."""
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
    """Return what a chart imports from which child: from where, and to where; the first one counts."""
    return [
        (unit.children[each.name], source, target)
        for each in dependency.read_entries(unit.chart).all
        if each.name in unit.children
        for source, target in each.imports
    ]


def _lines(text: str) -> dict[Path, int]:
    """Say in which line each member of a YAML file stands; what an alias stands for is not looked at again."""
    found: dict[Path, int] = {}
    try:
        node = next(yaml_node.documents(text), None)
    except position.Malformed:  # it was read before, or is not YAML but JSON
        return {}
    waiting: list[tuple[Path, Node]] = [((), node)] if node else []
    seen: set[int] = set()
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, MappingNode) and id(node) not in seen:
            seen.add(id(node))
            found |= {(*path, key.value): key.start_mark.line + 1 for key, _ in node.value}
            # In the order of the text, in which what an alias stands for comes before the alias.
            waiting += [((*path, key.value), member) for key, member in reversed(node.value)]
    return found
