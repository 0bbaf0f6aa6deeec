"""The points of an event, and who is killed there."""

import enum
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

EVENTS = ("install", "leader-elected", "config-changed", "start")


class Point(enum.StrEnum):
    """Where an agent stops."""

    GRANT = "before it has the answer of a grant"
    HANDLER = "in the handler"
    BEFORE_OUTCOME = "before the outcome file"
    AFTER_OUTCOME = "after the outcome file, before the commit"
    ANSWER = "before it has the answer of the commit"
    AFTER = "after the commit's answer"


class Fate(enum.StrEnum):
    """Who is killed then."""

    AGENT = "the agent is killed"
    SERVER = "the server is killed"
    POSTGRES = "PostgreSQL is killed"
    CHARM = "the script is killed"


@dataclass(frozen=True, slots=True)
class Case:
    """One of them. `lateness`, from 0 to 1: how long after the agent goes on a server or PostgreSQL is killed."""

    number: int
    point: Point
    fate: Fate
    event: str
    lateness: float = 0.5

    @property
    def application(self) -> str:
        """The name of its application."""
        return f"case-n{self.number}x"

    @property
    def may_repeat(self) -> bool:
        """Whether the handler may run once more: what it has done is not on the disk when somebody is killed.

        A server that dies takes no handler with it, but the lease may end before there is another one.
        """
        return self.point in (Point.GRANT, Point.HANDLER, Point.BEFORE_OUTCOME)


def draw(chance: random.Random, count: int) -> Sequence[Case]:
    """Draw cases, so that all points meet all fates before one comes again."""
    pairs = [(p, f) for p, f in itertools.product(Point, Fate) if f is not Fate.CHARM or p is Point.HANDLER]
    chance.shuffle(pairs)
    chosen = itertools.islice(itertools.cycle(pairs), count)
    return [Case(n, p, f, chance.choice(EVENTS), chance.random()) for n, (p, f) in enumerate(chosen)]
