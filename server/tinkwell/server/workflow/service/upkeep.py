"""Forgets what is past its time for as long as a server runs.

Every server looks now and then; the one whose turn it is acts. Each piece of a run is complete in itself, so the next
run goes on where one has failed, whichever server it is.
"""

import asyncio
import contextlib
import dataclasses
import logging
import random
import time
import uuid
from typing import Literal

from tinkwell.core import errors
from tinkwell.core.value import backoff
from tinkwell.server.database.database import Database
from tinkwell.server.workflow.service.pruning import LostTurn, Pruned, Pruning

logger = logging.getLogger(__name__)

# Who has done it, in events.
ACTOR = "retention"
_FIRST_PAUSE_SECONDS = 2.0
# After each piece, of which a hundred workflows take five: where a site has years to forget, each event is one that
# watchers have to hear.
_PIECE_PAUSE_SECONDS = 0.2

Result = Literal["done", "watched", "failed"]
"""What a run came to; it has only watched where another server acts at this moment."""


@dataclasses.dataclass(slots=True)
class Status:
    """What was done since this was made."""

    pruned: Pruned = dataclasses.field(default_factory=Pruned)
    runs: int = 0
    failures: int = 0
    last_run_at: float = 0.0
    """When the last run ended, in seconds since 1970."""
    last_result: Result | None = None


class Upkeep:
    """Runs again and again until cancelled. What ended `age_seconds` ago is forgotten; with 0 everything is kept."""

    def __init__(
        self,
        database: Database,
        *,
        age_seconds: float,
        interval_seconds: float,
        pause_seconds: float = _PIECE_PAUSE_SECONDS,
    ) -> None:
        self._pruning = Pruning(database, holder=str(uuid.uuid4()), pause_seconds=pause_seconds)
        self._age_seconds = age_seconds
        self._interval_seconds = interval_seconds
        self.status = Status()

    @property
    def is_wanted(self) -> bool:
        """Whether there is anything to do."""
        return self._age_seconds > 0

    async def run(self) -> None:
        """Forget at once and then at intervals, sooner after a failure. Failures are told, never raised."""
        failures = 0
        while True:
            try:
                await self.run_once()
                failures = 0
            except errors.TinkwellError as error:
                failures += 1
                logger.warning("forgetting workflows is held up", extra={"cause": str(error)})
            except Exception:
                failures += 1
                logger.exception("forgetting workflows failed")
            longest = self._interval_seconds
            if failures:
                longest = backoff.bound_seconds(failures, first=_FIRST_PAUSE_SECONDS, limit=longest)
            await asyncio.sleep(random.uniform(longest / 2, longest))  # noqa: S311

    async def run_once(self) -> Result:
        """Forget what is due if this is the one to do it. Raises `errors.TinkwellError`."""
        result: Result = "failed"
        try:
            result = await self._run()
        finally:
            self.status.runs += 1
            self.status.failures += result == "failed"
            self.status.last_run_at = time.time()
            self.status.last_result = result
        return result

    async def _run(self) -> Result:
        total = Pruned()
        try:
            async with contextlib.aclosing(self._pruning.run(age_seconds=self._age_seconds, actor=ACTOR)) as pieces:
                async for pruned in pieces:
                    total += pruned
                    self.status.pruned += pruned
        except LostTurn:
            return "watched"
        finally:
            if total != Pruned():
                logger.info("what was past its time was forgotten", extra=dataclasses.asdict(total))
        await self._pruning.give_turn_back()
        return "done"
