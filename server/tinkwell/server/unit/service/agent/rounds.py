"""What is looked at again and again, since no event of the log tells of it: what is over, late, or left.

Every server does it, and what one has done the others do not find any more.
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

# Who has done it, in events.
ACTOR = "units"


class Rounds:
    """Ends what is late, elects, reaps, and names units that nobody serves, each time that has passed."""

    def __init__(
        self, elections: Elections, reaping: Reaping, wakes: Wakes, overdue: Overdue, *, interval_seconds: float
    ) -> None:
        self._elections = elections
        self._reaping = reaping
        self._wakes = wakes
        self._overdue = overdue
        # What else there is to do in each round: whoever needs that adds it.
        self.others: list[Callable[[], Awaitable[None]]] = []
        self._interval_seconds = interval_seconds

    async def run(self) -> None:
        """Make rounds until cancelled. Failures are told, never raised."""
        while True:
            await asyncio.sleep(random.uniform(self._interval_seconds / 2, self._interval_seconds))  # noqa: S311
            try:
                await self.run_once()
            except errors.TinkwellError as error:
                logger.info("units are not looked at for a moment", extra={"cause": str(error)})
            except Exception:
                # The next round finds what this one has left.
                logger.exception("a round of units failed")

    async def run_once(self) -> None:
        """Make one round. Raises `errors.TinkwellError`."""
        for other in self.others:
            await other()
        await self._overdue.end_all(actor=ACTOR)
        await self._elections.hold_all(actor=ACTOR)
        await self._reaping.run(actor=ACTOR)
        await self._wakes.name_abandoned()
