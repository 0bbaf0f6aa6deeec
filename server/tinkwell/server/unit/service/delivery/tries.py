"""What is done once more where it has looked at what changed before it was locked."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tinkwell.core import errors
from tinkwell.server.unit.store.delivery import LookAgain

T = TypeVar("T")

# Each time somebody else has done something, so that so many in a row hardly come.
TRIES = 8


async def in_tries(work: Callable[[], Awaitable[T]]) -> T:
    """Call until it need not look again. Raises `errors.LostRace` after so many tries."""
    for _ in range(TRIES):
        try:
            return await work()
        except LookAgain:
            continue
    raise lost_race()


def lost_race() -> errors.LostRace:
    """Say that it was tried often enough."""
    return errors.LostRace("the unit, or what it is related to, changes all the time; try again")
