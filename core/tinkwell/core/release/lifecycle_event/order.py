"""In which order handlers hear an event.

Those with a lower weight come first. Of the same weight, those of subcharts come before those of their parents, and
what is no chart's comes last; of one chart, whoever has registered first does. The order is always the same one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from tinkwell.core import errors

LOWEST, HIGHEST = 0.0, 1.0


class Ordered(Protocol):
    """What the order of a handler depends on; `origin` is the path of the chart that brought it, empty for none."""

    @property
    def weight(self) -> float: ...
    @property
    def origin(self) -> str: ...
    @property
    def ordinal(self) -> int: ...


T = TypeVar("T", bound=Ordered)


def parse_weight(field: str, weight: float) -> float:
    """Check the weight of a handler; raises `errors.InvalidField`. What is not a number is refused as well."""
    if not LOWEST <= weight <= HIGHEST:
        raise errors.InvalidField.of(field, f"the weight must be a number from 0, first, to 1, last, and not {weight}")
    return float(weight)


def children_first(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of charts, parents before their children, the other way round: each behind all below it.

    Siblings stay in their order.
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
