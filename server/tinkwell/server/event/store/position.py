"""Where the end of the log is, by the database itself: for those who watch how far a server is behind it."""

import dataclasses
import datetime
from typing import Any

import sqlalchemy

from tinkwell.server.database.database import Database


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """The highest revision that is visible as a row, 0 if there is none, and the database's clock at that moment."""

    revision: int
    now: datetime.datetime


# Not the sequence: numbers that were rolled back, or thrown away with the rest of a partition, are never delivered.
_POSITION = sqlalchemy.text("SELECT (SELECT coalesce(max(revision), 0) FROM events), clock_timestamp()")


async def read(database: Database) -> Position:
    """Look at the log. Raises `errors.Unavailable`."""
    (row,) = await database.execute(_POSITION, {})
    revision, now = tuple[Any, ...](row)
    return Position(int(revision), now)
