"""The entries of `dependencies`: which vendored chart each entry means, its names, and whether it is enabled."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from tinkwell.core.release.chart.file import archive, version
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.file.metadata import Dependency
from tinkwell.core.release.chart.value import value
from tinkwell.core.value import document, parse

TAGS = "tags"

_EXPORTS = "exports"
_SHOWN_CHARACTERS = 200
# Charts of one author often ask for the same ranges.
_is_within = functools.lru_cache(maxsize=1_024)(version.is_within)

# A path in a subchart's values, and the path in its parent's values to which that value is copied.
Import: TypeAlias = tuple[value.Path, value.Path]
# Finds a value by its path.
Find: TypeAlias = Callable[[value.Path], value.Found]


@dataclass(frozen=True, slots=True)
class Declared:
    """An entry, its name in the release, and the chart that is vendored for it, if there is one.

    `field` is the path of the entry, such as `Chart.yaml.dependencies[2]`. `others` are the vendored versions if none
    is in the entry's range. `conditions` are the paths of its condition.
    """

    index: int
    entry: Dependency
    field: str
    chart: Chart | None
    others: tuple[str, ...] = ()
    conditions: tuple[value.Path, ...] = ()
    imports: tuple[Import, ...] = ()

    @property
    def name(self) -> str:
        """The chart's name in the release."""
        return self.entry.effective_name


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a chart, in their order and by their names in the release.

    `references` maps each name and alias that `depends-on` may use to the names in the release that it may mean.
    `unnamed` are vendored charts that no entry names, `unasked` are vendored versions that no entry asks for.
    """

    all: tuple[Declared, ...] = ()
    by_name: Mapping[str, Declared] = field(default_factory=dict)
    references: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unnamed: tuple[Chart, ...] = ()
    unasked: tuple[Chart, ...] = ()

    @property
    def weight(self) -> int:
        """How much work each use of the chart causes."""
        own = sum(1 + len(each.conditions) + len(each.entry.tags) + len(each.imports) for each in self.all)
        return own + len(self.unnamed) + len(self.unasked)


def read_entries(chart: Chart) -> Entries:
    """Return the entries of a chart, each with the highest vendored version in its range."""
    vendored: dict[str, list[Chart]] = {}
    for _, child in sorted(chart.charts.items()):
        vendored.setdefault(child.metadata.name, []).append(child)
    found = tuple(
        _declare(index, entry, parse.child(chart.path(f"{archive.METADATA}.dependencies"), index), vendored)
        for index, entry in enumerate(chart.metadata.dependencies)
    )
    meant = {id(each.chart) for each in found}
    named = {each.entry.name for each in found}
    unmeant = [child for those in vendored.values() for child in those if id(child) not in meant]
    return Entries(
        found,
        {each.name: each for each in found},
        _references(found),
        tuple(child for child in unmeant if child.metadata.name not in named),
        tuple(child for child in unmeant if child.metadata.name in named),
    )


class Decider(StrEnum):
    """The rule that decided whether a subchart is enabled."""

    CONDITION = "condition"
    TAGS = "tags"
    NOTHING = "nothing"
    UNDECLARED = "undeclared"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a subchart is enabled, and why.

    `keys` are the paths of the condition or the tags that decided, within the values of the whole release.
    """

    name: str
    is_enabled: bool
    by: Decider
    keys: tuple[value.Path, ...] = ()

    @property
    def why(self) -> str:
        """The reason in words, such as `condition bar.enabled is false`."""
        said = "true" if self.is_enabled else "false"
        match self.by:
            case Decider.CONDITION:
                return f"condition {_shorten('.'.join(self.keys[0]))} is {said}"
            case Decider.TAGS:
                tags = _shorten(", ".join(key[-1] for key in self.keys))
                return f"tag {tags} is {said}" if len(self.keys) == 1 else f"tags {tags} are {said}"
            case Decider.NOTHING:
                return "no condition and no tag says otherwise"
            case Decider.UNDECLARED:
                return "it is vendored, and no dependency"


def decide(each: Declared, place: value.Path, find: Find, find_at_root: Find, warn: Callable[[str], None]) -> Decision:
    """Decide whether an entry is enabled: by its first condition that has a boolean value, else by its tags.

    `place` is the path of the declaring chart's values within those of the release.
    """
    for path in each.conditions:
        found = find(path)
        if isinstance(found, bool):
            return Decision(each.name, found, Decider.CONDITION, ((*place, *path),))
        if not isinstance(found, value.Nothing):
            said = document.describe(found)
            shown = parse.excerpt(".".join(path))
            warn(f"{each.field}.condition: {shown} is {said}, and decides nothing; make it true or false")
    said_by = _tags(each, find_at_root, warn)
    for is_enabled in (True, False):
        if keys := tuple(key for key, said in said_by if said is is_enabled):
            return Decision(each.name, is_enabled, Decider.TAGS, keys)
    return Decision(each.name, True, Decider.NOTHING)


def _declare(index: int, entry: Dependency, place: str, vendored: Mapping[str, Sequence[Chart]]) -> Declared:
    found = vendored.get(entry.name, ())
    fitting = [child for child in found if _is_within(child.metadata.version, entry.version)]
    if len(fitting) > 1:
        fitting = [max(fitting, key=lambda child: version.precedence(child.metadata.version))]
    others = () if fitting else tuple(child.metadata.version for child in found)
    return Declared(
        index,
        entry,
        place,
        fitting[0] if fitting else None,
        others,
        conditions=tuple(_conditions(entry)),
        imports=tuple(_imports(entry)),
    )


def _references(entries: Sequence[Declared]) -> Mapping[str, Sequence[str]]:
    found: dict[str, dict[str, None]] = {}
    for each in entries:
        for spelling in (each.entry.alias, each.entry.name):
            if spelling:
                found.setdefault(spelling, {})[each.name] = None
    return {spelling: sorted(names) for spelling, names in found.items()}


def _imports(entry: Dependency) -> Iterator[Import]:
    for item in entry.import_values:
        match item:
            case str():
                yield (_EXPORTS, *value.parse_path(item)), ()
            case (source, target):
                yield value.parse_path(source), value.parse_path(target)


def _conditions(entry: Dependency) -> Iterator[value.Path]:
    for text in entry.condition.split(","):
        if path := value.parse_path(text.strip()):
            yield path


def _shorten(text: str) -> str:
    return f"{text[:_SHOWN_CHARACTERS]}…" if len(text) > _SHOWN_CHARACTERS else text


def _tags(each: Declared, find_at_root: Find, warn: Callable[[str], None]) -> list[tuple[value.Path, bool]]:
    """Return the tags of an entry that have a value in the release, with the values."""
    known: list[tuple[value.Path, bool]] = []
    for tag in each.entry.tags:
        found = find_at_root((TAGS, tag))
        if isinstance(found, bool):
            known.append(((TAGS, tag), found))
        elif not isinstance(found, value.Nothing):
            warn(
                f"{each.field}.tags: the tag {parse.excerpt(tag)} is {document.describe(found)}; make it true or false"
            )
    return known
