"""Named positions that are held by this process, and the database's time as they tell it.

Claiming a position takes it from whoever held it before: that one's next commit is refused, and it ends.
"""

import asyncio
import functools
from datetime import datetime, timedelta
from typing import Protocol

from tinkwell.client import errors, retry
from tinkwell.client.event.model import Position


class Fenced(Exception):
    """Another process has claimed a position; this one must do nothing more."""


class PositionApi(Protocol):
    """What keeping positions needs of the server."""

    async def position(self, name: str, *, claim: bool = False) -> Position:
        """Read a position, and claim it."""

    async def commit_position(self, name: str, *, revision: int, history_id: str, token: int) -> Position:
        """Move a claimed position on."""


class DatabaseClock:
    """Tells the database's time, late by at most what a call takes, and never early.

    Each answer carries the database's time; when it arrives, that is past. From there on monotonic time is counted.
    """

    def __init__(self) -> None:
        self._noted: tuple[datetime, float] | None = None

    def note(self, moment: datetime) -> None:
        """Take a time that the database has just told."""
        self._noted = (moment, asyncio.get_running_loop().time())

    def now(self) -> datetime:
        """Return the time; something must have been noted before."""
        assert self._noted is not None
        moment, at = self._noted
        return moment + timedelta(seconds=asyncio.get_running_loop().time() - at)


class Positions:
    """The positions of one rule set. Calls are repeated until the server answers."""

    def __init__(self, api: PositionApi, clock: DatabaseClock) -> None:
        self._api = api
        self._clock = clock
        self._held: dict[str, Position] = {}

    async def claim(self, name: str) -> Position:
        """Claim a position and return it; it is made where there is none."""
        call = functools.partial(self._api.position, name, claim=True)
        self._note(await retry.until_answered(call, what="claim a position"))
        return self._held[name]

    async def commit(self, name: str, revision: int, history_id: str) -> None:
        """Move a position, where that is a move; raises `Fenced`."""
        held = self._held[name]
        if (revision, history_id) == (held.revision, held.history_id):
            return
        call = functools.partial(
            self._api.commit_position, name, revision=revision, history_id=history_id, token=held.token
        )
        try:
            self._note(await retry.until_answered(call, what="commit a position", gives_up=(errors.LostRace,)))
        except errors.LostRace as error:
            raise _fenced(name) from error

    async def check(self, name: str) -> None:
        """Look whether a position is still held, without moving it; raises `Fenced`."""
        held = self._held[name]
        call = functools.partial(self._api.position, name)
        if (await retry.until_answered(call, what="look at a position")).token != held.token:
            raise _fenced(name)

    def _note(self, position: Position) -> None:
        self._held[position.name] = position
        if position.updated_at is not None:
            self._clock.note(position.updated_at)


def _fenced(name: str) -> Fenced:
    return Fenced(f"another process has claimed the position {name}")
