"""Which units are to be added and removed, so that an application has so many, on the machines that are wanted."""

from collections.abc import Sequence
from typing import NamedTuple

ANYWHERE = "anywhere"


class Placed(NamedTuple):
    """A unit by its name, and where it is: a machine, `anywhere`, or an empty text while no machine is chosen."""

    unit: str
    place: str


class Moves(NamedTuple):
    """The places of units to be added, which are empty where any will do, and the names of units to be removed."""

    added: Sequence[str]
    removed: Sequence[str]


def moves(units: Sequence[Placed], count: int, places: Sequence[str]) -> Moves:
    """Return what makes `count` units of those that are there, by number: the first ones at the wanted places.

    A unit never moves, so one that is elsewhere is removed, and another one added. `anywhere` stands for all of them.
    """
    wanted = [ANYWHERE] * count if list(places) == [ANYWHERE] else list(places)[:count]
    left, added = list(units), []
    for place in wanted:
        kept = next((each for each in left if each.place == place), None)
        if kept is None:
            added.append(place)
        else:
            left.remove(kept)
    free = count - len(wanted)  # they may be wherever they are
    return Moves([*added, *[""] * (free - len(left))], [each.unit for each in reversed(left[free:])])
