"""The pieces of the table that watchers are sending, shared so that watchers of one selection read each piece once.

A thousand watchers that fall behind at once, or come back after their server was away, want the same events at about
the same time. The first watcher that needs a piece reads it. Other watchers whose position is in the piece share it, as
long as any watcher holds it::

    being read ──▶ held by the watchers that send it ──▶ dropped when the last of them has sent it
        └── other watchers wait for the piece; if the reading one is cancelled, one of them reads instead

So a piece is kept only while it is being sent. A watcher that is far from the others reads by itself.
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

# A history and a selection: the events of a piece are those of one history that match one selection.
_Key: TypeAlias = tuple[str, Selection]
# While a piece is being read, its last revision is not known. A watcher at most this many revisions above its first one
# waits for it.
_NEAR_REVISIONS = 4_000


class _Place:
    """A piece that is being read or was read, and the number of its holders."""

    __slots__ = ("ended", "first", "holders", "key", "piece")

    def __init__(self, key: _Key, first: int) -> None:
        self.key = key
        self.first = first
        self.piece: Piece | None = None
        self.holders = 1
        # Done when the piece was read or could not be read. The result is an error that concerns all waiting watchers,
        # or None.
        self.ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()


_first = operator.attrgetter("first")


class Holding:
    """The pieces that one watcher holds."""

    def __init__(self, shelf: "Shelf") -> None:
        self._shelf = shelf
        self._places: list[_Place] = []

    async def take(self, key: _Key, position: int, read: Callable[[], Awaitable[Piece]]) -> Piece:
        """Return the piece that covers the position, and hold it. Call `read` if no watcher has read such a piece.

        Raises what `read` raises. If another watcher reads the piece and that raises `errors.Unavailable`, raises the
        same.
        """
        while (place := self._shelf.near(key, position)) is not None:
            if place.piece is not None:
                place.holders += 1
                self._places.append(place)
                return place.piece
            # `wait` does not cancel the future if this watcher is cancelled. No timeout is needed: `read` has its own.
            await asyncio.wait((place.ended,))
            if (error := place.ended.result()) is not None:
                # All waiting watchers raise the same object: without this, each raise would make its traceback longer.
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
        """Give back all pieces but the one that was taken last."""
        for place in self._places[:-1]:
            self._leave(place)

    def close(self) -> None:
        """Give back all pieces."""
        for place in list(self._places):
            self._leave(place)

    def _leave(self, place: _Place) -> None:
        self._places.remove(place)
        place.holders -= 1
        if not place.holders:
            self._shelf.remove(place)


class Shelf:
    """The pieces that are held or being read, by history and selection."""

    def __init__(self) -> None:
        # Ordered by first revision. No two places of one key have the same first revision.
        self._places: defaultdict[_Key, list[_Place]] = defaultdict(list)
        self.count = 0

    @contextlib.contextmanager
    def holding(self) -> Iterator[Holding]:
        """Make the holding of a watcher, and close it when the watcher has read the table."""
        holding = Holding(self)
        try:
            yield holding
        finally:
            holding.close()

    def near(self, key: _Key, position: int) -> _Place | None:
        """Return the place of a piece that covers the position, or may cover it once it has been read."""
        places = self._places.get(key, ())
        index = bisect.bisect_right(places, position, key=_first)
        if not index:
            return None
        place = places[index - 1]
        last = place.piece.revision if place.piece is not None else place.first + _NEAR_REVISIONS
        return place if position <= last else None

    def add(self, key: _Key, first: int) -> _Place:
        """Add a place for a piece that is about to be read."""
        place = _Place(key, first)
        bisect.insort(self._places[key], place, key=_first)
        self.count += 1
        return place

    def remove(self, place: _Place) -> None:
        """Remove a place that no watcher holds."""
        self._places[place.key].remove(place)
        if not self._places[place.key]:
            del self._places[place.key]
        self.count -= 1
