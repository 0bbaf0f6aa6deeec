"""Repeats work whose first look at the database was out of date when it had the lock."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tinkwell.core import errors
from tinkwell.server.unit.store.delivery import LookAgain

T = TypeVar("T")

# Each repetition is due to another transaction, so this many in a row are rare.
TRIES = 8


async def in_tries(work: Callable[[], Awaitable[T]]) -> T:
    """Call `work` until it does not raise `LookAgain`. Raises `errors.LostRace` after TRIES calls."""
    for _ in range(TRIES):
        try:
            return await work()
        except LookAgain:
            continue
    raise lost_race()


def lost_race() -> errors.LostRace:
    """Return the error for work that was repeated too often."""
    return errors.LostRace("the unit, or what it is related to, changes all the time; try again")
