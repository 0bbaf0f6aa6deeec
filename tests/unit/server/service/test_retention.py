"""Retention goes on whatever happens, and says when the log runs out of partitions."""

import asyncio
import contextlib
import datetime
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from support.waiting import eventually
from tinkwell.core.retention import Partition, Policy, Shelf, StepFailed
from tinkwell.server.service import retention
from tinkwell.server.service.retention import Retention

POLICY = Policy(age=datetime.timedelta(hours=24), count=10, width=100, ready=200)
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class Log:
    """Partitions in memory, of which some steps may fail."""

    def __init__(self, *, last_drawn: int = 0, add: Callable[[], None] = lambda: None) -> None:
        self.partitions = [Partition("events_000000", 0, 100)]
        self._last_drawn = last_drawn
        self._add = add

    @asynccontextmanager
    async def session(self) -> AsyncIterator["Log"]:
        yield self

    async def may_change(self) -> bool:
        return True

    async def lock(self) -> bool:
        return True

    async def look(self, policy: Policy) -> Shelf:
        return Shelf(list(self.partitions), self._last_drawn, 1, 0, 0, NOW)

    async def add(self, partition: Partition) -> None:
        self._add()
        self.partitions.append(partition)

    async def close(self, partition: Partition) -> None:
        raise AssertionError(partition)

    async def settle(self) -> int:
        raise AssertionError

    async def forget(self, partition: Partition) -> None:
        raise AssertionError(partition)

    async def discarded(self) -> list[str]:
        return []

    async def discard(self, name: str) -> None:
        raise AssertionError(name)


@asynccontextmanager
async def running(log: Log) -> AsyncIterator[Retention]:
    made = Retention(log.session, POLICY, interval_seconds=3_600)
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("error", [StepFailed("no"), RuntimeError("a fault of our own")])
async def test_a_failed_run_is_told_and_tried_again_long_before_the_interval(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retention, "_FIRST_PAUSE_SECONDS", 0.001)
    failing = [error, error]

    def fail() -> None:
        if failing:
            raise failing.pop()

    log = Log(add=fail)
    async with running(log) as made:
        await eventually(lambda: made.status.last_result == "done")
    assert (made.status.runs, made.status.failures, made.status.partitions_added) == (3, 2, 2)
    assert len([record for record in caplog.records if "retention" in record.message]) == 2


async def test_a_log_that_runs_out_of_partitions_is_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise StepFailed("permission denied for schema public")

    async with running(Log(last_drawn=50, add=fail)) as made:
        await eventually(lambda: made.status.failures == 1)
    (message,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "runs out of partitions" in message.message
    assert made.status.revisions_ahead == 49
