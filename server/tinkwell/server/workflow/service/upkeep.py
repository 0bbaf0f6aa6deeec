"""Prunes old workflows for as long as a server runs.

Every server checks at intervals; only the one whose turn it is prunes. Each piece of a run is complete in itself, so
after a failure the next run goes on from there, on any server.
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

# The actor of the events.
ACTOR = "retention"
_FIRST_PAUSE_SECONDS = 2.0
# The pause after each piece. Each event of a piece is delivered to all watchers, and a site may have years of workflows
# to prune: a hundred workflows take five pieces.
_PIECE_PAUSE_SECONDS = 0.2

Result = Literal["done", "watched", "failed"]
"""What a run came to; it has only watched where another server acts at this moment."""


@dataclasses.dataclass(slots=True)
class Status:
    """The work done since this object was made."""

    pruned: Pruned = dataclasses.field(default_factory=Pruned)
    runs: int = 0
    failures: int = 0
    last_run_at: float = 0.0
    """When the last run ended, in seconds since 1970."""
    last_result: Result | None = None


class Upkeep:
    """Prunes at intervals until cancelled. It deletes what ended `age_seconds` ago; with 0 it keeps everything."""

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
        """Whether pruning is turned on."""
        return self._age_seconds > 0

    async def run(self) -> None:
        """Prune at once and then at intervals, sooner after a failure. Failures are logged, not raised."""
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
        """Prune once if it is this server's turn. Raises `errors.TinkwellError`."""
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
