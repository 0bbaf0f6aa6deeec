"""Classifies the errors of statements: the database is out of reach, or a part of it is missing.

A restore drops everything, creates the tables, fills one after the other, and only then adds keys and triggers. A
statement may meet any state in between, which is not the fault of a caller or of this program.
"""

import contextlib
import re
from collections.abc import Iterator

import asyncpg

from tinkwell.core.event.page import Incomplete, SourceLost
from tinkwell.server.database import dial, engine

_MISSING = (
    "42P01",  # a table or a sequence
    "42704",  # the type of a row
    "42883",  # a function
    "42P10",  # the key of a table
    "3F000",  # the schema itself
    "55000",  # the trigger that draws the revision which is asked for next
)
# An object that a statement was planned for, or waited for, was dropped in the meantime. PostgreSQL has no SQLSTATE for
# that, and never translates this text.
_INTERNAL = "XX000"
_DROPPED = re.compile(r"could not open relation with OID \d|cache lookup failed for ")
# A transaction that may not write, as on a standby that a pooler or a proxy has put in the primary's place.
_READ_ONLY = "25006"
# PostgreSQL's function for NOTIFY. It refuses a channel without a name, and there is no SQLSTATE for that.
_RINGS = "Async_Notify"
# PostgreSQL's function that reads a sequence. After a fail-over the bell's may be unreadable until a server creates it
# again.
_READS_SEQUENCE = "read_seq_tuple"


def is_incomplete(error: object) -> bool:
    """Whether a statement failed because a part of the schema, or of its rows, is missing."""
    has_said = getattr(error, "sqlstate", None)
    return has_said in _MISSING or _function(error) in (_RINGS, _READS_SEQUENCE) or _is_of_dropped(error)


def is_read_only(error: object) -> bool:
    """Whether a statement failed because its session's server accepts no writes, so that another session is needed."""
    return getattr(error, "sqlstate", None) == _READ_ONLY


def is_spent(error: object) -> bool:
    """Whether a session must be replaced although it answers, because it keeps outdated state."""
    return is_read_only(error) or is_nameless_ring(error) or _is_of_dropped(error)


def is_nameless_ring(error: object) -> bool:
    """Whether a writer that had to ring found no channel.

    Its session remembers that even when a channel exists again.
    """
    return _function(error) == _RINGS


def _is_of_dropped(error: object) -> bool:
    return getattr(error, "sqlstate", None) == _INTERNAL and _DROPPED.search(str(error)) is not None


def _function(error: object) -> object:
    """Return the function of PostgreSQL that has raised the error."""
    # SQLAlchemy wraps the driver's error, which alone has this.
    cause = getattr(error, "__cause__", None) or error
    return getattr(cause, "server_source_function", None)


def said(error: BaseException) -> str:
    """Return the kind of an error and its text, for the log. Errors of `dial` are whole sentences already."""
    return str(error) if isinstance(error, dial.CannotConnect) else f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def lost() -> Iterator[None]:
    """Turn errors that mean that the log cannot be read now into `SourceLost`."""
    try:
        yield
    except (asyncpg.PostgresError, *engine.CONNECTION_ERRORS) as error:
        if is_incomplete(error):
            raise Incomplete(str(error)) from error
        raise SourceLost(said(error)) from error
