"""All calls of agents, and the work for units that goes on as long as a server runs."""

import asyncio
import logging
import random

from tinkwell.core import errors
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.agent.election import Elections
from tinkwell.server.unit.service.agent.overdue import Overdue
from tinkwell.server.unit.service.agent.reaping import Reaping
from tinkwell.server.unit.service.agent.rounds import Rounds
from tinkwell.server.unit.service.agent.serving import ServingService
from tinkwell.server.unit.service.agent.telling import Telling
from tinkwell.server.unit.service.agent.wake import Wakes
from tinkwell.server.unit.service.delivery.committing import Committing
from tinkwell.server.unit.service.delivery.granting import Granting
from tinkwell.server.unit.service.secret.reading import SecretReading
from tinkwell.server.unit.service.task.ending import TaskEnding
from tinkwell.server.unit.store import delivery

logger = logging.getLogger(__name__)

_LONGEST_PAUSE_SECONDS = 1.0


class AgentService:
    """Implements UnitService. Changes by time alone are found in rounds, which start every `interval_seconds`."""

    def __init__(self, database: Database, *, interval_seconds: float, sealing: SecretService | None = None) -> None:
        # Without keys, calls that need secrets are refused, and no others.
        sealing = sealing or SecretService(None)
        self.wakes = Wakes(database)
        self.reaping = Reaping(database)
        elections = Elections(database)
        self.serving = ServingService(database, self.reaping, self.wakes)
        self.granting = Granting(database, elections, self.reaping)
        self.committing = Committing(database, self.reaping, sealing)
        self.tasks = TaskEnding(database, self.reaping, sealing)
        self.secrets = SecretReading(database, sealing)
        self.telling = Telling(database)
        overdue = Overdue(database)
        self.rounds = Rounds(elections, self.reaping, self.wakes, overdue, interval_seconds=interval_seconds)
        self.rounds.others.append(self.tasks.end_overdue)

    async def hand_back(self, transaction: Transaction, lease_token: int) -> None:
        """Hand back all attempts under a lease that its owner ends. They are repeated, and do not count as lost."""
        await delivery.hand_back(transaction, lease_token)

    async def run(self) -> None:
        """Name units that may have something due, until cancelled."""
        while True:
            try:
                await self.wakes.run()
            except errors.TinkwellError as error:
                logger.info("agents are not told of their units for a moment", extra={"cause": str(error)})
            except Exception:
                # When this works again, all units are named.
                logger.exception("agents could not be told of their units")
            await asyncio.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))  # noqa: S311
