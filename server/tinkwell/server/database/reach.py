"""What a failed statement says about the database: that it is out of reach, or that a part of it is missing.

A restore drops everything, makes the tables, fills one after the other, and only then adds keys and triggers. Whoever
works on the database meanwhile may meet any state in between, and none of them is the fault of a caller or of ours.
"""

import contextlib
from collections.abc import Iterator

import asyncpg

from tinkwell.core.event.page import Incomplete, SourceLost
from tinkwell.server.database import engine

_MISSING = (
    "42P01",  # a table or a sequence
    "42883",  # a function
    "42P10",  # the key of a table
    "3F000",  # the schema itself
    "55000",  # the trigger that draws the revision which is asked for next
)
# PostgreSQL's function for NOTIFY. It refuses a channel that has no name, and has no SQLSTATE of its own for that.
_RINGS = "Async_Notify"


def is_incomplete(error: object) -> bool:
    """Whether a statement failed because a part of our schema, or what belongs into it, is missing."""
    return getattr(error, "sqlstate", None) in _MISSING or is_nameless_ring(error)


def is_nameless_ring(error: object) -> bool:
    """Whether a writer that had to ring found no channel. Its session keeps to that when there is one again."""
    # SQLAlchemy wraps the driver's error, which alone has this.
    cause = getattr(error, "__cause__", None) or error
    return getattr(cause, "server_source_function", None) == _RINGS


@contextlib.contextmanager
def lost() -> Iterator[None]:
    """Turn whatever says that the log cannot be read at this moment into `SourceLost`."""
    try:
        yield
    except (asyncpg.PostgresError, *engine.CONNECTION_ERRORS) as error:
        if is_incomplete(error):
            raise Incomplete(str(error)) from error
        raise SourceLost(f"{type(error).__name__}: {error}") from error
