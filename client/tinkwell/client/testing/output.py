"""Keeps output as the server does: a known line stays as it is, unless it is open."""

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol, TypeVar


class Line(Protocol):
    """The fields of a line that this module needs."""

    @property
    def number(self) -> int:
        """Its place within the attempt, from 1."""

    @property
    def is_open(self) -> bool:
        """Whether the line is not complete, and comes again."""


L = TypeVar("L", bound=Line)


def add(lines: list[L], more: Iterable[L], key: Callable[[L], Hashable]) -> None:
    """Add lines to the known ones. An open line is replaced, a complete one stays."""
    places = {key(line): place for place, line in enumerate(lines)}
    for line in more:
        place = places.setdefault(key(line), len(lines))
        if place == len(lines):
            lines.append(line)
        elif lines[place].is_open:
            lines[place] = line


class Told:
    """The lines that a watcher has received."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, object] = {}

    def news(self, lines: Iterable[L], key: Callable[[L], Hashable]) -> list[L]:
        """Return those lines that are new to the watcher, or have changed."""
        found = [line for line in lines if self._lines.get(key(line)) != line]
        self._lines.update({key(line): line for line in found})
        return found
