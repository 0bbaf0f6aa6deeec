"""Output as the server keeps it: a line that is there stays as it is, unless it is open."""

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol, TypeVar


class Line(Protocol):
    """What is to be known of a line."""

    @property
    def number(self) -> int:
        """Its place within the attempt, from 1."""

    @property
    def is_open(self) -> bool:
        """Whether it comes again."""


L = TypeVar("L", bound=Line)


def add(lines: list[L], more: Iterable[L], key: Callable[[L], Hashable]) -> None:
    """Add lines to those that are there."""
    places = {key(line): place for place, line in enumerate(lines)}
    for line in more:
        place = places.setdefault(key(line), len(lines))
        if place == len(lines):
            lines.append(line)
        elif lines[place].is_open:
            lines[place] = line


class Told:
    """What a watcher was told."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, object] = {}

    def news(self, lines: Iterable[L], key: Callable[[L], Hashable]) -> list[L]:
        """Return what is new of these lines, or has changed."""
        found = [line for line in lines if self._lines.get(key(line)) != line]
        self._lines.update({key(line): line for line in found})
        return found
