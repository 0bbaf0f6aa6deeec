"""Repeats the checks for changes that no event of the log reports: expired leases, late attempts, unused rows.

Every server does this. The servers need no coordination, because a check finds nothing that another server has already
dealt with.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from tinkwell.core import errors
from tinkwell.server.unit.service.agent.election import Elections
from tinkwell.server.unit.service.agent.overdue import Overdue
from tinkwell.server.unit.service.agent.reaping import Reaping
from tinkwell.server.unit.service.agent.wake import Wakes

logger = logging.getLogger(__name__)

# The actor of the events.
ACTOR = "units"


class Rounds:
    """Ends late attempts, elects leaders, reaps, and names units whose agent is gone, once per interval."""

    def __init__(
        self, elections: Elections, reaping: Reaping, wakes: Wakes, overdue: Overdue, *, interval_seconds: float
    ) -> None:
        self._elections = elections
        self._reaping = reaping
        self._wakes = wakes
        self._overdue = overdue
        # Further work to do in each round. Other services add to it.
        self.others: list[Callable[[], Awaitable[None]]] = []
        self._interval_seconds = interval_seconds

    async def run(self) -> None:
        """Make rounds until cancelled. Failures are logged, not raised."""
        while True:
            await asyncio.sleep(random.uniform(self._interval_seconds / 2, self._interval_seconds))  # noqa: S311
            try:
                await self.run_once()
            except errors.TinkwellError as error:
                logger.info("units are not looked at for a moment", extra={"cause": str(error)})
            except Exception:
                # The next round does what this one has left undone.
                logger.exception("a round of units failed")

    async def run_once(self) -> None:
        """Make one round. Raises `errors.TinkwellError`."""
        for other in self.others:
            await other()
        await self._overdue.end_all(actor=ACTOR)
        await self._elections.hold_all(actor=ACTOR)
        await self._reaping.run(actor=ACTOR)
        await self._wakes.name_abandoned()
