"""What was read is not so any more: a unit or a relation that is referred to has gone meanwhile."""

import contextlib
from collections.abc import Iterator

import asyncpg


class LookAgain(Exception):
    """The transaction is of no use, and what it did is to be tried again in another one. No caller is told of it."""


@contextlib.contextmanager
def look_again() -> Iterator[None]:
    """Raise `LookAgain` where PostgreSQL refuses a reference."""
    try:
        yield
    except asyncpg.ForeignKeyViolationError as error:
        raise LookAgain from error
