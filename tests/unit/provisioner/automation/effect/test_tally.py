"""What a rule set tells of itself in the log."""

import asyncio
import logging

import pytest

from support.waiting import eventually
from tinkwell.provisioner.automation.effect import tally


async def test_what_is_new_or_hangs_is_told_again_and_again_and_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    tallies = {"busy": tally.Tally(fired=3, done=1, failed=1), "idle": tally.Tally()}

    async def told(count: int) -> None:
        await eventually(lambda: len(caplog.records) >= count, interval_seconds=0)

    telling = asyncio.create_task(tally.tell("set", tallies, every_seconds=0))
    await told(2)
    tallies["busy"].done += 1
    caplog.clear()
    await told(1)
    for _ in range(20):
        await asyncio.sleep(0)
    tallies["idle"].fired += 1
    tallies["idle"].skipped += 2
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    told_last = [
        {name: vars(record)[name] for name in ("rules", "rule", "fired", "done", "failed", "skipped", "pending")}
        for record in caplog.records
    ]
    assert told_last == [
        {"rules": "set", "rule": "busy", "fired": 3, "done": 2, "failed": 1, "skipped": 0, "pending": 0},
        {"rules": "set", "rule": "idle", "fired": 1, "done": 0, "failed": 0, "skipped": 2, "pending": 1},
    ]
