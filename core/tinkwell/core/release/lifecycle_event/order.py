"""The order in which handlers hear an event: lower weights first.

With the same weight, handlers of subcharts come before those of their parents, and handlers of no chart come last;
handlers of one chart are in the order of their registration. So the order is always the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from tinkwell.core import errors

LOWEST, HIGHEST = 0.0, 1.0


class Ordered(Protocol):
    """The fields that order a handler; `origin` is the path of the chart that brought it, "" for none."""

    @property
    def weight(self) -> float: ...
    @property
    def origin(self) -> str: ...
    @property
    def ordinal(self) -> int: ...


T = TypeVar("T", bound=Ordered)


def parse_weight(field: str, weight: float) -> float:
    """Check the weight of a handler; raises `errors.InvalidField`, also for NaN."""
    if not LOWEST <= weight <= HIGHEST:
        raise errors.InvalidField.of(field, f"the weight must be a number from 0, first, to 1, last, and not {weight}")
    return float(weight)


def children_first(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of charts with each chart after all charts below it; `paths` has parents before children.

    Siblings keep their order.
    """
    children: dict[str, list[str]] = {}
    for path in paths:
        children.setdefault(path.rpartition(".")[0], []).append(path)
    return tuple(_below("", children))


def in_order(handlers: Iterable[T], charts: Sequence[str]) -> list[T]:
    """Return handlers in the order in which they hear an event; `charts` are the paths, children first."""
    places = {path: place for place, path in enumerate(charts)}
    return sorted(handlers, key=lambda each: (each.weight, places.get(each.origin, len(places)), each.ordinal))


def _below(path: str, children: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for child in children.get(path, ()):
        yield from _below(child, children)
        yield child
