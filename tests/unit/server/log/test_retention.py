"""Retention goes on whatever happens, and says when the log runs out of partitions."""

import asyncio
import contextlib
import dataclasses
import datetime
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from support.waiting import eventually
from tinkwell.core.event.retention import Partition, Policy, Shelf, StepFailed
from tinkwell.server.log.retention import Retention

POLICY = Policy(age=datetime.timedelta(hours=24), count=10, width=100, ready=200)
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class Log:
    """Partitions in memory, of which some steps may fail."""

    def __init__(
        self,
        *partitions: Partition,
        last_drawn: int = 0,
        add: Callable[[], None] = lambda: None,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        self.partitions = list(partitions) or [Partition("events_000000", 0, 100)]
        self.forgotten: list[str] = []
        self._last_drawn = last_drawn
        self._add = add
        self._settle = settle

    @asynccontextmanager
    async def session(self) -> AsyncIterator["Log"]:
        yield self

    async def may_change(self) -> bool:
        return True

    async def lock(self) -> bool:
        return True

    async def look(self, policy: Policy) -> Shelf:
        return Shelf(list(self.partitions), self._last_drawn, 1, 0, self._last_drawn, NOW)

    async def add(self, partition: Partition) -> None:
        self._add()
        self.partitions.append(partition)

    async def close(self, partition: Partition) -> None:
        raise AssertionError(partition)

    async def settle(self) -> int:
        self._settle()
        return self._last_drawn

    async def forget(self, partition: Partition) -> None:
        self.partitions.remove(partition)
        self.forgotten.append(partition.name)

    async def discarded(self) -> list[str]:
        return list(self.forgotten)

    async def discard(self, name: str) -> None:
        self.forgotten.remove(name)


@asynccontextmanager
async def running(
    log: Log, *, interval_seconds: float = 3_600, first_pause_seconds: float = 2.0
) -> AsyncIterator[Retention]:
    made = Retention(log.session, POLICY, interval_seconds=interval_seconds, first_pause_seconds=first_pause_seconds)
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("error", [StepFailed("no"), RuntimeError("a fault of our own")])
async def test_a_failed_run_is_told_and_tried_again_long_before_the_interval(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    failing = [error, error]

    def fail() -> None:
        if failing:
            raise failing.pop()

    log = Log(add=fail)
    async with running(log, first_pause_seconds=0.001) as made:
        await eventually(lambda: made.status.last_result == "done")
    assert (made.status.runs, made.status.failures, made.status.partitions_added) == (3, 2, 2)
    assert len([record for record in caplog.records if "retention" in record.message]) == 2


async def test_it_outlives_more_failures_in_a_row_than_doubling_a_pause_has_numbers_for() -> None:
    failures = 1_100

    def fail() -> None:
        nonlocal failures
        failures -= 1
        if failures > 0:
            raise StepFailed("no")

    async with running(Log(add=fail), interval_seconds=1e-6, first_pause_seconds=1e-9) as made:
        await eventually(lambda: made.status.last_result == "done")


async def test_a_log_that_runs_out_of_partitions_is_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise StepFailed("permission denied for schema public")

    async with running(Log(last_drawn=50, add=fail)) as made:
        await eventually(lambda: made.status.failures == 1)
    (message,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "runs out of partitions" in message.message
    assert made.status.revisions_ahead == 49


PAST = Partition("events_000000", 0, 100, NOW - datetime.timedelta(days=3), NOW - datetime.timedelta(days=2))
# Old enough to be closed.
OPEN = Partition("events_000001", 100, 200, NOW - datetime.timedelta(hours=12), NOW)


def refuse() -> None:
    raise StepFailed("could not extend file: No space left on device")


def retain(log: Log) -> Retention:
    return Retention(log.session, dataclasses.replace(POLICY, count=0), interval_seconds=3_600)


async def test_while_no_partition_can_be_added_past_ones_are_dropped_and_none_is_closed() -> None:
    log = Log(PAST, OPEN, last_drawn=150, add=refuse)
    kept = retain(log)
    with pytest.raises(StepFailed, match="No space left on device"):
        await kept.run_once()
    assert (log.partitions, log.forgotten, kept.status.partitions_dropped) == ([OPEN], [], 1)
    assert (kept.status.last_result, kept.status.failures) == ("failed", 1)


async def test_while_nothing_can_be_forgotten_partitions_are_added_and_forgotten_ones_are_dropped() -> None:
    log = Log(PAST, dataclasses.replace(OPEN, oldest_at=NOW), last_drawn=150, settle=refuse)
    log.forgotten = ["events_before"]
    kept = retain(log)
    with pytest.raises(StepFailed):
        await kept.run_once()
    assert (kept.status.partitions_added, log.forgotten, kept.status.partitions_dropped) == (2, [], 1)
