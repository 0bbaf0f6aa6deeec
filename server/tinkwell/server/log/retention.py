"""Keeps the event log's partitions: adds them ahead of writers, and drops those whose events are past their time.

Every server looks now and then; the one that gets the lock acts. Each step of a run is complete in itself, so the next
run goes on where one has failed. None waits for the others: only forgetting frees a disk that is too full for a new
partition, and a transaction that keeps old events must not keep new partitions from being added.
"""

import asyncio
import dataclasses
import logging
import random
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from tinkwell.core.event import retention
from tinkwell.core.event.retention import Partition, Plan, Policy, Shelf, StepFailed
from tinkwell.core.value import backoff

logger = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS = 2.0

Result = Literal["done", "watched", "failed"]
"""What a run came to; it has only watched where another one acts at this moment, or where the role may not."""


class Session(Protocol):
    """One connection's hold on the partitions; see `tinkwell.server.log.store.partition`."""

    async def may_change(self) -> bool: ...
    async def lock(self) -> bool: ...
    async def look(self, policy: Policy) -> Shelf: ...
    async def add(self, partition: Partition) -> None: ...
    async def close(self, partition: Partition) -> None: ...
    async def settle(self) -> int: ...
    async def forget(self, partition: Partition) -> None: ...
    async def discarded(self) -> list[str]: ...
    async def discard(self, name: str) -> None: ...


@dataclasses.dataclass(slots=True)
class Status:
    """What was seen last, and what was done since this was made. Zeros before the first look."""

    partitions: int = 0
    partitions_ahead: int = 0
    revisions_ahead: int = 0
    oldest_revision: int = 0
    oldest_event_seconds: float = 0.0
    """Age of the oldest kept event at the last look; 0 without events."""
    partitions_added: int = 0
    partitions_closed: int = 0
    partitions_dropped: int = 0
    runs: int = 0
    failures: int = 0
    last_run_at: float = 0.0
    """When the last run ended, in seconds since 1970."""
    last_result: Result | None = None

    @property
    def has_seen(self) -> bool:
        """Whether the gauges show anything."""
        return self.partitions > 0


class Retention:
    """Runs again and again until cancelled."""

    def __init__(
        self,
        session: Callable[[], AbstractAsyncContextManager[Session]],
        policy: Policy,
        *,
        interval_seconds: float,
        first_pause_seconds: float = _FIRST_PAUSE_SECONDS,
    ) -> None:
        self._session = session
        self._policy = policy
        self._interval_seconds = interval_seconds
        self._first_pause_seconds = first_pause_seconds
        self._has_explained = False
        self.status = Status()

    async def run(self) -> None:
        """Look after the log at once and then at intervals, sooner after a failure. Failures are told, never raised."""
        failures = 0
        while True:
            try:
                await self.run_once()
                failures = 0
            except StepFailed as error:
                failures += 1
                logger.warning("the event log's retention is held up", extra={"cause": str(error)})
            except Exception:
                failures += 1
                logger.exception("the event log's retention failed")
            self._warn()
            longest = self._interval_seconds
            if failures:
                longest = backoff.bound_seconds(failures, first=self._first_pause_seconds, limit=longest)
            await asyncio.sleep(random.uniform(longest / 2, longest))  # noqa: S311

    async def run_once(self) -> Result:
        """Look, and do what is due if this is the one to do it. Raises `StepFailed`."""
        result: Result = "failed"
        try:
            async with self._session() as session:
                result = await self._run(session)
        finally:
            self.status.runs += 1
            self.status.failures += result == "failed"
            self.status.last_run_at = time.time()
            self.status.last_result = result
        return result

    async def _run(self, session: Session) -> Result:
        may_change = await session.may_change()
        is_holder = may_change and await session.lock()
        # After the lock: the one who had it a moment ago may have changed what there is to see.
        shelf = await self._look(session)
        if not may_change:
            self._explain()
        if not is_holder:
            return "watched"
        plan = retention.decide(shelf, self._policy)
        failures: list[StepFailed] = []
        for step in (self._extend, self._forget, self._discard):
            try:
                await step(session, plan)
            except StepFailed as error:
                failures.append(error)
        if len(failures) > 1:
            raise StepFailed("; ".join(dict.fromkeys(map(str, failures)))) from failures[0]
        if failures:
            raise failures[0]
        await self._look(session)
        return "done"

    async def _extend(self, session: Session, plan: Plan) -> None:
        for partition in plan.add:
            await session.add(partition)
            self.status.partitions_added += 1
            logger.info("a partition of the event log was added", extra={"partition": partition.name})
        # Closing throws numbers away, of which there are not enough while no partition can be added.
        if plan.close is not None:
            await session.close(plan.close)
            self.status.partitions_closed += 1
            logger.info("a partition of the event log was closed", extra={"partition": plan.close.name})

    async def _forget(self, session: Session, plan: Plan) -> None:
        if not plan.forget:
            return
        last = await session.settle()
        # An event that was committed meanwhile may be younger than all that was seen.
        plan = retention.decide(await self._look(session), self._policy)
        for partition in plan.forget:
            if partition.end <= last + 1:
                await session.forget(partition)

    async def _discard(self, session: Session, _: Plan) -> None:
        for name in await session.discarded():
            await session.discard(name)
            self.status.partitions_dropped += 1
            logger.info("a partition of the event log was dropped", extra={"partition": name})

    async def _look(self, session: Session) -> Shelf:
        shelf = await session.look(self._policy)
        status = self.status
        status.partitions = len(shelf.partitions)
        status.partitions_ahead = shelf.partitions_ahead
        status.revisions_ahead = shelf.revisions_ahead
        status.oldest_revision = shelf.oldest_revision
        status.oldest_event_seconds = (shelf.now - shelf.oldest_at).total_seconds() if shelf.oldest_at else 0.0
        return shelf

    def _explain(self) -> None:
        if not self._has_explained:
            self._has_explained = True
            logger.warning(
                "this server's role does not own the event log, so that it neither forgets events nor adds partitions: "
                "let the owner run `tinkwell db maintain` regularly"
            )

    def _warn(self) -> None:
        if self.status.has_seen and self.status.revisions_ahead < self._policy.ready // 2:
            logger.error(
                "the event log runs out of partitions, and writes will fail without them",
                extra={"revisions_ahead": self.status.revisions_ahead},
            )
