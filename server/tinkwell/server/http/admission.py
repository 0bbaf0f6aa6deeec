"""Decides which connections may be open at once, and which of them is closed to make room for another.

A connection waits for a request, or is busy with one. A client with a request sends it within its first packets, so the
connection that has waited longest is the least useful: it is closed if there are too many, in all or from one place. If
all connections are busy, a new one is refused.
"""

import collections
import dataclasses
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)
P = TypeVar("P", bound=Hashable)

# Connections take at most one in this many of the files that the process may open. The rest is for everything else,
# above all for gRPC clients.
_FILES_SHARE = 4
# One place has at most one in this many of all connections.
_PLACE_SHARE = 2


class Full(Exception):
    """The largest number of connections is open, and all of them are busy."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The largest numbers of open connections: in all, and from one place."""

    total: int = 1_000
    per_place: int = 100

    def within(self, files: int) -> "Bounds":
        """Return the bounds of a process that may open this many files."""
        total = max(1, min(self.total, files // _FILES_SHARE))
        return Bounds(total=total, per_place=max(1, min(self.per_place, total // _PLACE_SHARE)))


class Admission(Generic[C, P]):
    """Counts connections by the place that they come from. The place None has no bound of its own."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._open: dict[C, P | None] = {}
        self._of_place: collections.Counter[P] = collections.Counter()
        # The waiting connections, longest first: all, and again by place.
        self._waiting: dict[C, None] = {}
        self._waiting_at: dict[P | None, dict[C, None]] = {}

    def __iter__(self) -> Iterator[C]:
        return iter(self._open)

    def enter(self, connection: C, place: P | None) -> C | None:
        """Admit a connection, which then waits. Return the connection that must be closed to make room, if any.

        Raises `Full`.
        """
        leaving = self._leaving(place)
        if leaving is not None:
            self.leave(leaving)
        self._open[connection] = place
        if place is not None:
            self._of_place[place] += 1
        self.wait(connection)
        return leaving

    def leave(self, connection: C) -> None:
        """Forget a connection, if it is still known."""
        if connection not in self._open:
            return
        self.work(connection)
        place = self._open.pop(connection)
        if place is not None:
            self._of_place[place] -= 1
            if not self._of_place[place]:
                del self._of_place[place]

    def wait(self, connection: C) -> None:
        """Record that a connection waits from now on."""
        if connection in self._open:
            self._waiting[connection] = None
            self._waiting_at.setdefault(self._open[connection], {})[connection] = None

    def work(self, connection: C) -> None:
        """Record that a connection is busy from now on."""
        if connection in self._waiting:
            del self._waiting[connection]
            place = self._open[connection]
            del self._waiting_at[place][connection]
            if not self._waiting_at[place]:
                del self._waiting_at[place]

    def _leaving(self, place: P | None) -> C | None:
        if place is not None and self._of_place[place] >= self._bounds.per_place:
            candidates = self._waiting_at.get(place, {})
        elif len(self._open) >= self._bounds.total:
            candidates = self._waiting
        else:
            return None
        longest = next(iter(candidates), None)
        if longest is None:
            raise Full
        return longest
