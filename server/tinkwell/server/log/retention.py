"""Maintains the event log's partitions: adds new ones before they are needed, and drops those whose events are too old.

Every server looks at the partitions now and then; the one that gets the lock changes them. If a step of a run fails,
the run goes on with the next step, and the next run tries the failed one again. So a transaction that keeps old events
does not keep new partitions from being added, and a disk that is too full for a new partition does not keep old ones
from being dropped.
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
"""The result of a run: "watched" if another server has the lock, or this server's role does not own the log."""


class Session(Protocol):
    """A session that changes partitions; see `tinkwell.server.log.store.partition`."""

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
    """What the last look has seen (0 before the first one), and counters since this was made."""

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
        """Whether there was a first look."""
        return self.partitions > 0


class Retention:
    """Maintains the partitions at intervals, until cancelled."""

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
        """Make a run at once and then at intervals, shorter ones after a failure. Failures are logged, not raised."""
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
        """Look at the partitions, and change them if this server gets the lock. Raises `StepFailed`."""
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
        # Look only after asking for the lock: its last holder may have changed the partitions a moment ago.
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
        # Closing a partition discards its unused revisions. While no partition can be added, they may be needed.
        if plan.close is not None:
            await session.close(plan.close)
            self.status.partitions_closed += 1
            logger.info("a partition of the event log was closed", extra={"partition": plan.close.name})

    async def _forget(self, session: Session, plan: Plan) -> None:
        if not plan.forget:
            return
        last = await session.settle()
        # Decide again: an event that was committed meanwhile may be younger than all others of its partition.
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
                "this server's role does not own the event log, so the server neither drops nor adds partitions: "
                "let the owner run `tinkwell db maintain` regularly"
            )

    def _warn(self) -> None:
        if self.status.has_seen and self.status.revisions_ahead < self._policy.ready // 2:
            logger.error(
                "the event log runs out of partitions, and without a partition all writes fail",
                extra={"revisions_ahead": self.status.revisions_ahead},
            )
