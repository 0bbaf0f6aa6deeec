"""The error for reads that are out of date: a unit or a relation that is referred to has gone in the meantime."""

import contextlib
from collections.abc import Iterator

import asyncpg


class LookAgain(Exception):
    """The transaction is void, and the caller has to repeat its work in another one. No client sees this error."""


@contextlib.contextmanager
def look_again() -> Iterator[None]:
    """Raise `LookAgain` if PostgreSQL refuses a foreign key."""
    try:
        yield
    except asyncpg.ForeignKeyViolationError as error:
        raise LookAgain from error
