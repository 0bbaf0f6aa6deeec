"""How much each rule has done, told in the program's log, since a provisioner has no page of metrics."""

import asyncio
import dataclasses
import logging
from collections.abc import Mapping
from typing import NoReturn

logger = logging.getLogger(__name__)

SUMMARY_SECONDS = 300.0


@dataclasses.dataclass(slots=True)
class Tally:
    """Counts the effects of one rule since its process began; `failed` are those that have failed for good.

    `skipped` are no effects but events for which its condition could not be evaluated.
    """

    fired: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def pending(self) -> int:
        """How many are being done, or wait for their turn or their next try."""
        return self.fired - self.done - self.failed


async def tell(rule_set: str, tallies: Mapping[str, Tally], *, every_seconds: float = SUMMARY_SECONDS) -> NoReturn:
    """Log a line for each rule that has something new to tell, again and again, and when it is cancelled."""
    told = {name: Tally() for name in tallies}
    try:
        while True:
            await asyncio.sleep(every_seconds)
            _tell_new(rule_set, tallies, told)
    finally:
        _tell_new(rule_set, tallies, told)


def _tell_new(rule_set: str, tallies: Mapping[str, Tally], told: dict[str, Tally]) -> None:
    for name, tally in tallies.items():
        # What hangs is told again each time.
        if tally != told[name] or tally.pending:
            counts = {**dataclasses.asdict(tally), "pending": tally.pending}
            logger.info("what a rule has done so far", extra={"rules": rule_set, "rule": name, **counts})
            told[name] = dataclasses.replace(tally)
