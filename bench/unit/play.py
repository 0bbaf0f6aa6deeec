"""Units in pairs that send balls to each other: a ball that goes is a bag that is written, and one that comes an event.

A ball stays within a relation, so none of its events stands for two: what is sent and what is told can be counted.
"""

import itertools
from collections.abc import Mapping

from bench import process
from bench.unit import charms
from bench.unit.site import Site, Told
from tinkwell.charm import Profile

UNITS = 50
_WRITTEN = "SELECT coalesce(sum(version), 0)::bigint FROM relation_bag"


class Play:
    """All players of a site, each the one unit of its application, with a ball of its own and its partner's."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._names = [f"player{place}" for place in range(UNITS)]
        self._balls = itertools.count(1)

    @property
    def names(self) -> list[str]:
        """The names of the applications."""
        return self._names

    async def prepare(self) -> None:
        """Make the players, and relate each to its partner in both directions."""
        # In the other profile who begins with a ball is told of that as well.
        await self._site.deploy(charms.Player, dict.fromkeys(self._names, 1), profile=Profile.JUJU)
        await self._site.relate(*((name, self._names[place ^ 1]) for place, name in enumerate(self._names)))
        await self._site.settled(*self._names)

    async def begin(self, returns: int, *, pause_milliseconds: int = 0) -> None:
        """Have each player begin with a new ball, which is sent back so many times."""
        ball = f"{next(self._balls)}.{returns}"
        await self._site.configure({name: {"served": ball, "pause": pause_milliseconds} for name in self._names})

    async def run(self, pids: Mapping[str, int], returns: int) -> Told:
        """Send balls until all are at rest, and check that each was sent and told exactly once."""
        before = await self._site.sql.fetchval(_WRITTEN)
        # The configuration that begins it, and the ball each time that it comes.
        told = await self._site.told(pids, lambda: self.begin(returns), UNITS * (returns + 2))
        await self._site.settled(*self._names)
        written = await self._site.sql.fetchval(_WRITTEN) - before
        if written != UNITS * (returns + 1):
            raise process.Failed(f"bags were written {written} times where {UNITS * (returns + 1)} were wanted")
        return told
