"""How values are merged: those of users over those of charts, those of parents over those of their children.

Objects are merged member by member; other values replace. A null hides the values below it, and is kept until all
values are merged. Arguments are not changed: a result shares parts with them.
"""

import decimal
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.value.document import JsonObject, JsonValue

GLOBAL = "global"

Path: TypeAlias = "tuple[str, ...]"
Clash: TypeAlias = Callable[[Path, JsonValue, JsonValue], None]

_NUMBER_CHARACTERS = 8
# Two quotes, and a comma or a colon.
_PUNCTUATION = 3


@dataclass(frozen=True, slots=True)
class Layer:
    """Values from one place, which `field` names: `values.bar` of the user, or `charts/bar/values.yaml` of a chart."""

    field: str
    values: JsonObject
    chart: Chart | None = None

    @property
    def is_of_user(self) -> bool:
        """Whether the values are the user's, and not a chart's."""
        return self.chart is None


class Nothing:
    """The result of a search that found no value."""


NOTHING = Nothing()
Found: TypeAlias = "JsonValue | Nothing"


def parse_path(text: str) -> Path:
    """Split a path such as `bar.service.port`; the result is empty for the root, "" or "."."""
    return tuple(part for part in text.split(".") if part)


def find(layers: Iterable[Layer], path: Path) -> Found:
    """Find a value in layers, the highest first. A null, or a non-object on the path, ends the search."""
    for layer in layers:
        value: JsonValue = layer.values
        for part in path:
            if not isinstance(value, dict):
                return NOTHING
            if part not in value:
                break
            value = value[part]
        else:
            return NOTHING if value is None else value
    return NOTHING


def overlay(over: JsonObject, under: JsonObject, clash: Clash | None = None, path: Path = ()) -> JsonObject:
    """Merge values over others. `clash` is called if an object meets another type of value; the upper value wins."""
    if not over or not under:
        return over or under
    merged = dict(under)
    for key, value in over.items():
        if key not in under:
            merged[key] = value
            continue
        below = under[key]
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = overlay(value, below, clash, (*path, key))
            continue
        merged[key] = value
        if clash and value is not None and below is not None and isinstance(value, dict) != isinstance(below, dict):
            clash((*path, key), value, below)
    return merged


def share_globals(given: JsonObject, own: JsonObject, clash: Clash) -> JsonObject:
    """Give a child the globals of its parent, which win over its own.

    If an object meets another type of value, the child keeps its own, and `clash` is called.
    """
    kept: JsonObject = {}
    for key in given.keys() & own.keys():
        upper, lower = given[key], own[key]
        if upper is not None and lower is not None and isinstance(upper, dict) != isinstance(lower, dict):
            clash((GLOBAL, key), upper, lower)
            kept[key] = lower
    shared = overlay(given, own)
    return {**shared, **kept} if kept else shared


def nest(path: Path, table: JsonObject) -> JsonObject:
    """Return a new object with `table` at a path."""
    for part in reversed(path):
        table = {part: table}
    return table


@dataclass(slots=True)
class Pile:
    """Values with others put under them one by one; each step costs only the time for the new ones."""

    values: JsonObject = field(default_factory=dict)
    _own: set[int] = field(default_factory=set)

    def put_under(self, values: JsonObject) -> None:
        """Put values under all earlier ones, as `overlay` does; they are not changed."""
        self._own.add(id(self.values))
        self._fill(self.values, values)

    def _fill(self, upper: JsonObject, lower: JsonObject) -> None:
        for key, below in lower.items():
            there = upper.setdefault(key, below)
            if there is below or not isinstance(there, dict) or not isinstance(below, dict):
                continue
            if id(there) not in self._own:
                there = upper[key] = dict(there)
                self._own.add(id(there))
            self._fill(there, below)


@dataclass(slots=True)
class Cleaner:
    """Removes nulls from objects, and measures values; shared parts are visited once.

    Nulls in lists stay, because positions in a list have meaning.
    """

    _clean: dict[int, tuple[JsonObject, JsonObject]] = field(default_factory=dict)
    _sizes: dict[int, tuple[JsonValue, int, int]] = field(default_factory=dict)

    def without_nulls(self, values: JsonObject) -> JsonObject:
        """Return the values without members that are null; the same object if there are none."""
        known = self._clean.get(id(values))
        if known:
            return known[1]
        kept: JsonObject = {
            key: self.without_nulls(value) if isinstance(value, dict) else value
            for key, value in values.items()
            if value is not None
        }
        is_same = len(kept) == len(values) and all(kept[key] is value for key, value in values.items())
        result = values if is_same else kept
        # The key is an identity, so the object must stay alive.
        self._clean[id(values)] = values, result
        return result

    def measure(self, value: JsonValue) -> tuple[int, int]:
        """Return the approximate number of characters of a value as JSON, and its depth."""
        match value:
            case dict() | list():
                return self._measure_container(value)
            case str():
                return len(value) + _PUNCTUATION, 0
            case int() | decimal.Decimal() | None:
                return _NUMBER_CHARACTERS, 0

    def _measure_container(self, value: JsonObject | list[JsonValue]) -> tuple[int, int]:
        if known := self._sizes.get(id(value)):
            return known[1:]
        size, depth = _PUNCTUATION, 0
        for item in value.values() if isinstance(value, dict) else value:
            item_size, item_depth = self.measure(item)
            size += item_size
            depth = max(depth, item_depth)
        if isinstance(value, dict):
            size += sum(len(key) + _PUNCTUATION for key in value)
        self._sizes[id(value)] = value, size, depth + 1
        return size, depth + 1
