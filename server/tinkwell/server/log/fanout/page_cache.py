"""Pieces of the table that watchers hold at this moment, so that those who are behind together read each piece once.

A thousand watchers that fall behind at once, or come back after their server was away, want the same events at about
the same time. The first who needs a piece reads it; whoever needs what lies in it has it as long as somebody holds it::

    being read ──▶ held by those who send it ──▶ gone, once the last of them has sent it
        └── others who need it wait; who reads may go, and one of them reads in its place

So nothing is kept that nobody sends, and who follows at a distance reads by itself.
"""

import asyncio
import bisect
import contextlib
import operator
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.table_page import Piece

# What a piece holds: a selection's events in one history.
_Key: TypeAlias = tuple[str, Selection]
# A piece that is being read reaches as far as there are events for it; so many revisions it is waited for.
_NEAR_REVISIONS = 4_000


class _Place:
    """Where a piece is, or will be."""

    __slots__ = ("ended", "first", "holders", "key", "piece")

    def __init__(self, key: _Key, first: int) -> None:
        self.key = key
        self.first = first
        self.piece: Piece | None = None
        self.holders = 1
        # Ends when it has been read or given up; its result is the error that would meet all others, too.
        self.ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()


_first = operator.attrgetter("first")


class Holding:
    """What one watcher holds of a shelf."""

    def __init__(self, shelf: "Shelf") -> None:
        self._shelf = shelf
        self._places: list[_Place] = []

    async def take(self, key: _Key, position: int, read: Callable[[], Awaitable[Piece]]) -> Piece:
        """Return the piece that has what comes from the position on, and hold it; read it if nobody has.

        Raises whatever `read` does; `errors.Unavailable` also if somebody else has waited for the same in vain.
        """
        while (place := self._shelf.near(key, position)) is not None:
            if place.piece is not None:
                place.holders += 1
                self._places.append(place)
                return place.piece
            # Whoever waits may be cancelled; the one that reads, who gives up after a few tries, is not concerned.
            await asyncio.wait((place.ended,))
            if (error := place.ended.result()) is not None:
                # One error ends many; without this it would collect the frames of all of them.
                raise error.with_traceback(None)
        place = self._shelf.add(key, position)
        self._places.append(place)
        error = None
        try:
            place.piece = await read()
        except errors.Unavailable as unavailable:
            error = unavailable
            raise
        finally:
            place.ended.set_result(error)
            if place.piece is None:
                self._leave(place)
        return place.piece

    def keep_last(self) -> None:
        """Hold what was taken last, and nothing else."""
        for place in self._places[:-1]:
            self._leave(place)

    def close(self) -> None:
        """Hold nothing."""
        for place in list(self._places):
            self._leave(place)

    def _leave(self, place: _Place) -> None:
        self._places.remove(place)
        place.holders -= 1
        if not place.holders:
            self._shelf.remove(place)


class Shelf:
    """The pieces that are held, or being read, by history and selection."""

    def __init__(self) -> None:
        # In the order of their first revisions, of which no two are the same.
        self._places: defaultdict[_Key, list[_Place]] = defaultdict(list)
        self.count = 0

    @contextlib.contextmanager
    def holding(self) -> Iterator[Holding]:
        """Give a watcher what it holds pieces by, for as long as it reads the table."""
        holding = Holding(self)
        try:
            yield holding
        finally:
            holding.close()

    def near(self, key: _Key, position: int) -> _Place | None:
        """Return the place of a piece that has, or may have, what comes from the position on."""
        places = self._places.get(key, ())
        index = bisect.bisect_right(places, position, key=_first)
        if not index:
            return None
        place = places[index - 1]
        last = place.piece.revision if place.piece is not None else place.first + _NEAR_REVISIONS
        return place if position <= last else None

    def add(self, key: _Key, first: int) -> _Place:
        """Make a place for a piece that is going to be read."""
        place = _Place(key, first)
        bisect.insort(self._places[key], place, key=_first)
        self.count += 1
        return place

    def remove(self, place: _Place) -> None:
        """Forget a piece that nobody holds."""
        self._places[place.key].remove(place)
        if not self._places[place.key]:
            del self._places[place.key]
        self.count -= 1
